"""Tasks of Harbor: a folder with an instruction, a test and an environment."""
