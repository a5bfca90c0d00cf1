"""The operational evaluator: scores a run by what was counted, and compares it with those before. It uses no model."""
