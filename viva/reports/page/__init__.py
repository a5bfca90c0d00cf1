"""The report as one HTML page: its sections, plots, pictures and templates."""
