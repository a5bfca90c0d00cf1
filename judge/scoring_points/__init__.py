"""The scoring-point evaluator: one verdict per scoring point, by code, by model, or by both."""
