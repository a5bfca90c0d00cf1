"""How scores changed over time and from one version of an agent to the next."""
