"""Signs what this user starts, so that a stranger's plan can be recognized before it is resumed.

A plan selects agents, models and a sandbox, which is code that runs on this machine. The signature is an HMAC
(RFC 2104) with a key that only this user's programs can read.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.exam.option_declaration import OPTION
from viva.exam.options import Options
from viva.journal.kept_files import read_kept
from viva.records.codec import loads
from viva.records.text import one_line
from viva.regular_files import open_plain

SIGNATURE = "signature"
KEY_BYTES = 32


def signed(content: bytes) -> bytes:
    """Add the user's signature to a JSON object, or nothing if no key can be stored on this machine."""
    key = _key(make=True)
    plain = loads(content)
    return json.dumps({**plain, SIGNATURE: _signature(plain, key)} if key else plain).encode()


def read_signed(folder: Path, name: str) -> tuple[Any, bool]:
    """Return the content of a journal's file, and whether it has this user's signature.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: it is not a regular file that contains a JSON object.
    """
    if not os.path.lexists(folder / name):
        raise FileNotFoundError(name)
    content = read_kept(folder, name)
    if content is None:
        raise ValueError("it is not a regular file, or it is larger than any that Viva writes")
    return checked_signature(content)


def checked_signature(content: bytes) -> tuple[dict[str, Any], bool]:
    """Return the JSON object that `signed` made, without its signature, and whether that is this user's.

    Raises:
        ValueError: it is not a JSON object.
    """
    try:
        data = loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    found, key = data.pop(SIGNATURE, None), _key()
    if key is None or not isinstance(found, str):
        return data, False
    return data, hmac.compare_digest(found.encode(), _signature(data, key).encode())


def refuse_unsigned(folder: Path, name: str, choices: Mapping[str, object]) -> None:
    """Refuse to resume what does not have this user's signature.

    Args:
        folder: The journal's folder.
        name: The file in it that lacks the signature.
        choices: What would run, by description.

    Raises:
        SetupError: always; the message says what would run.
    """
    shown = "; ".join(f"{what} {one_line(_words(value), 200)}" for what, value in choices.items())
    raise SetupError(
        f"{folder} was started by another user, on another machine, or by an older version: {name} does not have your "
        f"signature. Resuming it would run: {one_line(shown, 2000)}. If you trust all of this, add --trust-plan."
    )


def chosen(options: Options) -> Iterator[tuple[str, object]]:
    """Yield the options that differ from their defaults, with their names on the command line."""
    for field in fields(options):
        value = getattr(options, field.name)
        if value != field.default and field.name not in ("agent", "concurrency"):
            yield _flag(field), value


def _flag(field: Field[Any]) -> str:
    return field.metadata[OPTION].flag if OPTION in field.metadata else f"--{field.name.replace('_', '-')}"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _signature(plain: Mapping[str, Any], key: bytes) -> str:
    content = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def key_file() -> Path:
    """Return the file of this user's key, in the state folder of the XDG Base Directory Specification."""
    state = os.environ.get("XDG_STATE_HOME") or ""
    home = Path(state) if os.path.isabs(state) else Path("~/.local/state").expanduser()
    return home / "viva" / "key"


def _key(*, make: bool = False) -> bytes | None:
    """Return the key, or None if there is none. A key that others can read or write does not count."""
    file = key_file()
    if make:
        with contextlib.suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(file)
    with contextlib.suppress(OSError), open_plain(file) as opened:
        found = os.fstat(opened.fileno())
        key = opened.read(KEY_BYTES + 1)
        if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and len(key) == KEY_BYTES:
            return key
    return None


def _write(file: Path) -> None:
    part = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(secrets.token_bytes(KEY_BYTES))
    try:
        # Two processes may start at the same time: the first to link has written the complete key.
        os.link(part, file)
    finally:
        part.unlink()
