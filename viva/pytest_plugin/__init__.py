"""The pytest plugin. pytest loads `entry_point`; the rest is imported only with `--viva-agent`."""
