"""The Docker backend of the sandbox: daemon, images, containers and their leftovers."""
