"""Agents that need no line of the user's: each file is loaded in the agent's own process, as a file of the user's is.

Their folder holds nothing else, because it comes first on `sys.path` there.
"""
