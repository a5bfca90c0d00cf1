"""Marks what this user began, so that a stranger's plan is told from one's own before it is gone on with.

A plan chooses agents, models and a sandbox: code that runs here. The mark is an HMAC (RFC 2104) with a key that only
this user's programs can read.
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

from adapters.errors import SetupError
from harness.exam.options import OPTION, Options
from records.codec import loads
from records.kept_files import open_plain, read_kept
from records.text import one_line

MARK = "signature"
KEY_BYTES = 32


def signed(content: bytes) -> bytes:
    """The JSON object with the user's mark in it; without, where no key can be kept here."""
    key = _key(make=True)
    plain = loads(content)
    return json.dumps({**plain, MARK: _mark(plain, key)} if key else plain).encode()


def read_signed(folder: Path, name: str) -> tuple[Any, bool]:
    """What a file of a journal says, and whether it bears this user's mark.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no plain file with a JSON object.
    """
    if not os.path.lexists(folder / name):
        raise FileNotFoundError(name)
    content = read_kept(folder, name)
    if content is None:
        raise ValueError("it is not a plain file")
    try:
        data = loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("it is not an object")
    mark, key = data.pop(MARK, None), _key()
    ours = key is not None and isinstance(mark, str) and hmac.compare_digest(mark.encode(), _mark(data, key).encode())
    return data, ours


def refuse_strange(folder: Path, name: str, choices: Mapping[str, object]) -> None:
    """Refuse what this user did not begin.

    Args:
        folder: The journal's.
        name: The file in it that says what was begun.
        choices: What it would have run.

    Raises:
        SetupError: always; it says what would run.
    """
    shown = "; ".join(f"{what} {one_line(_words(value), 200)}" for what, value in choices.items())
    raise SetupError(
        f"{folder} was begun by somebody else, on another machine, or by an older version: {name} does not bear your "
        f"signature. It would go on with: {one_line(shown, 2000)}. If you trust all of this, add --trust-plan."
    )


def chosen(options: Options) -> Iterator[tuple[str, object]]:
    """The options that are not at their default, as they are written on a command line."""
    for field in fields(options):
        value = getattr(options, field.name)
        if value != field.default and field.name not in ("agent", "concurrency"):
            yield _flag(field), value


def _flag(field: Field[Any]) -> str:
    return field.metadata[OPTION].flag if OPTION in field.metadata else f"--{field.name.replace('_', '-')}"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _mark(plain: Mapping[str, Any], key: bytes) -> str:
    content = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def key_file() -> Path:
    """Where this user's key lies: where the XDG Base Directory Specification puts the state of programs."""
    state = os.environ.get("XDG_STATE_HOME") or ""
    home = Path(state) if os.path.isabs(state) else Path("~/.local/state").expanduser()
    return home / "viva" / "key"


def _key(*, make: bool = False) -> bytes | None:
    """The key; None where there is none. One that others may read or write is none."""
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
        # Two processes may begin at once: whoever links first has made the key, whole.
        os.link(part, file)
    finally:
        part.unlink()
