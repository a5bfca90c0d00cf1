"""The attacks: real attempts from inside a check, or from the files that an agent left. Judged in `test_attacks`."""

from __future__ import annotations

from .attack import PRELUDE as PRELUDE
from .attack import Attack as Attack
from .bombs import BOMBS
from .data import DATA, UNSAFE
from .network import NETWORK
from .privileges import PRIVILEGES
from .reading import READING
from .server import SERVER
from .writing import WORKSPACE, WRITING

ATTACKS = [*NETWORK, *BOMBS, *READING, *WRITING, *WORKSPACE, *PRIVILEGES, *SERVER, *DATA, *UNSAFE]
