"""Sends runs and verdicts to an Arize Phoenix server: spans by OTLP, verdicts as annotations. Requires
`vivavoce[phoenix]`.
"""
