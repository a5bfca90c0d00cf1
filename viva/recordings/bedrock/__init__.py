"""Traces of Amazon Bedrock's agents."""
