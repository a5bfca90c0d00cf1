"""Reader and writer of the Agent Trajectory Interchange Format."""
