"""Eval sets of Google's Agent Development Kit, with the criteria of `test_config.json` beside them."""
