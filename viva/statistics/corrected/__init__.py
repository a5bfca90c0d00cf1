"""Suite scores corrected for the judge's measured error: what the score would be if people had judged everything."""
