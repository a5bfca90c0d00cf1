"""The file `viva.yaml`: suites by name. It is found, read and checked here, and what it would run is trusted or not."""
