"""Locks files (`flock`), and tells a lock that another process holds from a file system that has no locks."""

from __future__ import annotations

import errno
import fcntl

NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})
"""The errors of file systems without locks: Lustre without the option `flock`, NFSv3 without lockd, some of FUSE."""
_TAKEN = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES})


def try_lock(descriptor: int, *, shared: bool = False) -> bool | None:
    """Lock an open file without waiting. The lock ends when the file is closed.

    Args:
        descriptor: The file.
        shared: Whether others may hold shared locks at the same time.

    Returns:
        Whether it is locked now; None if its file system has no locks.

    Raises:
        OSError: it cannot be locked for another reason.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        if error.errno in NO_LOCKS:
            return None
        raise
    return True
