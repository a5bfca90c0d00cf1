"""The conventions by which instrumentations write spans, each translated into what the readers know."""
