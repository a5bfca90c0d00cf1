"""The connector to agents that speak the Agent2Agent protocol (A2A): `a2a:http://host`."""
