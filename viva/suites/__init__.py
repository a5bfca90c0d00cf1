"""Many exams at once: the plan, the engine, resuming, gates, and what a suite shows while it runs and at its end."""
