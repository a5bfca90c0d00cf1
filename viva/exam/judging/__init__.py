"""What judging requires (evaluators, sandbox, models, references), and what its results become."""
