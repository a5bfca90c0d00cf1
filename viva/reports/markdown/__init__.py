"""The report as Markdown, for pull requests and CI summaries."""
