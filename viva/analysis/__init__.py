"""The analyst: a model reads figures and sample runs of journals, names weaknesses, and recommends improvements."""
