"""Configurations of promptfoo, and the runnable exports of OpenAI's hosted evals, which are such configurations.

The keys are those of promptfoo's schema as of version 0.123.
"""
