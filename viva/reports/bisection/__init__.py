"""Shows which round of a failed conversation decided: on a terminal, on the page, and as JSON."""
