"""The command `viva init`: writes first files that work, and tries them."""
