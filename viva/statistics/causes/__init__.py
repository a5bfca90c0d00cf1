"""Groups misses by what went wrong, across cases, agents and wordings."""
