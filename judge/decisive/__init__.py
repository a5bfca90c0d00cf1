"""Finds the step that decided a failed run: by a judge, with how often the same judge was right on labelled runs."""
