"""What the command `viva import` prints."""
