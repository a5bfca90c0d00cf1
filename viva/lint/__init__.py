"""The lint of cases: tries each with agents that deserve nothing and one that deserves all, and reads its words."""
