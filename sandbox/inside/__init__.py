"""The half of the sandbox that runs inside it: standard library only, Python 3.9 and later, sent over stdin."""
