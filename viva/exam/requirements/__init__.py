"""What an exam requires, tested before its first message: explained imports, packages, file descriptors, threads."""
