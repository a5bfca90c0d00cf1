"""The functions behind the public names of `viva`, synchronous and asynchronous."""
