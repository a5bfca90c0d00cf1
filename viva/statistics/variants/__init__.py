"""Statistics of a suite by what its examiner played: personas and strategies."""
