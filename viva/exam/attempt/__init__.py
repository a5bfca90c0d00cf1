"""One attempt at a run: what it is, what its agent meets, and the conversation with it."""
