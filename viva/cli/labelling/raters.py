"""The name under which a person labels."""

from __future__ import annotations

import getpass

from viva.errors import SetupError


def user_name() -> str:
    """Return the user's name on this machine.

    Raises:
        SetupError: the user has none.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise SetupError("your user has no name on this machine: say who labels with --rater NAME.") from None
