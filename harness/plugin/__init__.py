"""The inside of the pytest plugin; `harness.plugin.entry_point` is the door, and loads this when it is needed."""
