"""Samples of the open-source evals of OpenAI, and the registry files that say how they are judged."""
