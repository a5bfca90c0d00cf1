"""One exchange with an agent, for `viva doctor --agent`."""
