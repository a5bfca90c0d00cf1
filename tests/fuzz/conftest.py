"""The sandboxes of tests/sandbox, for fuzzing."""

from tests.sandbox.conftest import box as box
from tests.sandbox.conftest import kind as kind
