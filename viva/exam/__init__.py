"""One exam: the resources it needs, its conversation, its judgement, its record and its outcome."""
