"""The connector to programs that are examined over stdin and stdout: `cmd:COMMAND` and `cmd+plain:COMMAND`."""
