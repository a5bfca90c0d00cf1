"""Finds and opens the files of a source: folders and globs, packed files, and Parquet."""
