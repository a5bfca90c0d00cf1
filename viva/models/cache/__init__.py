"""Keeps the answers of models in a folder, so that a question that was answered before is not paid for again."""
