"""The live viewer: a local server and page on which journals are read, compared and labelled."""
