"""What the hits of a suite rest on: how many on the agent's words alone, how many on conditions that never arose."""
