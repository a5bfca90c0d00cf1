"""Reports on journals, one module for each format; each writes a stream and takes all text for hostile."""
