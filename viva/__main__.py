"""`python -m viva` is the command `viva`."""

import os
import sys

# Python put the current folder first, in which a stranger's file could stand in for a module of a library.
if sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from viva.cli.main import main

if __name__ == "__main__":
    main()
