"""Builds the documentation as a site: `python -m docs.site` (see `make docs`)."""
