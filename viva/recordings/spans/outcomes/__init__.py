"""What became of what an agent decided: inputs, failures, calls that were not dispatched, runs without a decision."""
