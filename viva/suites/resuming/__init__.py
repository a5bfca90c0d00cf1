"""What is stored of a command, so that it can be resumed, and what a resume still has to do."""
