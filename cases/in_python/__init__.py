"""Cases that a Python program makes: the short forms of a case file, checked as those of files are."""
