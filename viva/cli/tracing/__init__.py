"""Parts of `viva trace`: comparing, following and writing recordings."""
