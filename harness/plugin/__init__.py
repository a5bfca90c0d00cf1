"""The inside of the pytest plugin; `harness.pytest_plugin` is the door, and loads this when it is needed."""
