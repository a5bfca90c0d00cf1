"""What can be said of a check from its source code alone: what it must do, what it imports, whether it can fail."""
