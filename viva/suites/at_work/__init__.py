"""A suite at work, seen and steered from another process: its state, pausing, and runs that are to be done again."""
