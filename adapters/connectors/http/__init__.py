"""The connector to agents behind HTTP: the chat protocol, the Responses API, and JSON APIs of any kind."""
