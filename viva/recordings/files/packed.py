"""Opens files of recordings; those that are packed with gzip or zstd are unpacked while they are read.

A file that unpacks to far more than recordings do is refused: a few megabytes could fill a disk.
"""

from __future__ import annotations

import errno
import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from viva.errors import SetupError
from viva.recordings.recording import SourceNotes
from viva.regular_files import BUFFER, MIB, in_words, open_given

MOST_RATIO = 200
"""How many times its own size a file may unpack to. Traces pack about 10 to 50 times."""
MOST_FREE = 256 * MIB
"""Bytes that every file may unpack to, whatever its size."""
MOST_FRAME = 256 * MIB
"""Maximum bytes of one frame of the collector's file exporter."""
MOST_WINDOW = 27
"""Binary logarithm of the memory that a zstd file may ask for: 128 MiB, as the command `zstd` allows."""
_Read = Callable[[int], bytes]
GZIP, ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_LENGTH = 4


def open_recording(path: Path, told: SourceNotes | None = None) -> IO[bytes]:
    """Open a file that the user named; if it is packed with gzip or zstd, what is read is unpacked.

    Args:
        path: The file.
        told: Is told if a packed file ends too early or is damaged, so that the rest is left out. None if that
            is an error.

    Raises:
        OSError: it cannot be opened, or, while reading, it is damaged or unpacks to too much.
        SetupError: the package that unpacks zstd is not installed.
    """
    file = open_given(path)
    try:
        begin = file.peek(2 * _LENGTH)[: 2 * _LENGTH]  # type: ignore[attr-defined]
        if not is_packed(begin):
            return file
        counted = _PackedFile(file)
        return io.BufferedReader(_UnpackedFile(counted, _unpacker(begin), path, told), BUFFER)
    except BaseException:
        file.close()
        raise


def most_unpacked(size: int) -> int:
    """Return the maximum number of bytes that a packed file of a size may unpack to."""
    return max(MOST_FREE, MOST_RATIO * size)


def is_packed(begin: bytes) -> bool:
    """Return whether a file that begins so is packed in a way that `open_recording` unpacks."""
    return begin.startswith((GZIP, ZSTD)) or begin[_LENGTH : 2 * _LENGTH] == ZSTD


def _unpacker(begin: bytes) -> Callable[[_PackedFile], _Read]:
    """Return what begins to unpack a file, and returns a function that reads a piece of it."""
    if begin.startswith(GZIP):
        return lambda file: gzip.GzipFile(fileobj=file).read1
    zstd = _zstd()
    if begin.startswith(ZSTD):
        return lambda file: zstd.ZstdFile(file, options=_options()).read1
    return lambda file: _FrameReader(file).read1


def _zstd() -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore] # Python 3.14
    except ImportError:
        try:
            from backports import zstd  # type: ignore[import-not-found, no-redef, unused-ignore]
        except ImportError as error:
            raise SetupError("a file packed with zstd requires: pip install 'vivavoce[zstd]'.") from error
    return zstd


def _options() -> dict[Any, int]:
    return {_zstd().DecompressionParameter.window_log_max: MOST_WINDOW}


class _PackedFile(io.RawIOBase):
    """A packed file that counts the bytes that were read of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.taken = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.taken += len(data)
        return data

    def seekable(self) -> bool:
        return self._file.seekable()

    def rewind(self) -> None:
        self._file.seek(0)

    def close(self) -> None:
        self._file.close()
        super().close()


class _FrameReader:
    """What the file exporter of OpenTelemetry's collector writes with `compression: zstd`.

    Each message is a zstd frame with its length, four bytes, before it. They are read as lines.
    """

    def __init__(self, file: _PackedFile) -> None:
        self._file = file
        self._zstd = _zstd()

    def read1(self, size: int) -> bytes:
        """Return the next message, whatever the size; empty at the end."""
        head = self._file.read(_LENGTH)
        if not head:
            return b""
        length = int.from_bytes(head, "big")
        if length > MOST_FRAME:
            raise OSError(errno.EFBIG, f"one of its frames is larger than {in_words(MOST_FRAME)}, the maximum")
        body = self._file.read(length)
        if len(head) < _LENGTH or len(body) < length:
            raise EOFError
        inner = self._zstd.ZstdDecompressor(options=_options())
        data: bytes = inner.decompress(body, MOST_FRAME)
        if not inner.eof:
            raise OSError(errno.EFBIG, f"one of its frames unpacks to more than {in_words(MOST_FRAME)}, the maximum")
        return data.rstrip(b"\n") + b"\n"


class _UnpackedFile(io.RawIOBase):
    """What a packed file holds."""

    def __init__(
        self, file: _PackedFile, unpacker: Callable[[_PackedFile], _Read], path: Path, told: SourceNotes | None
    ) -> None:
        self._file, self._unpacker, self._path, self._told = file, unpacker, path, told
        self._begin()

    def _begin(self) -> None:
        self._read1 = self._unpacker(self._file)
        self._given = self._at = 0
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go back to the begin; no other place can be found without unpacking all before it."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("a packed file is read from its begin")
        self._file.rewind()
        self._begin()
        return 0

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer).cast("B")
        if not self._rest:
            self._rest = memoryview(self._unpack(len(target)))
        taken = self._rest[: len(target)]
        target[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        self._at += len(taken)
        return len(taken)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _unpack(self, size: int) -> bytes:
        try:
            data = self._read1(size)
        except EOFError:
            if self._told is not None and self._told.growing:
                self._told.pass_over(self._path)
                return self._end()
            return self._broken("it ends too early")
        except (gzip.BadGzipFile, zlib.error, ValueError) as error:
            return self._broken(f"it is damaged: {error}")
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            return self._broken(f"it is damaged: {error}")
        self._given += len(data)
        if self._given > most_unpacked(self._file.taken):
            raise OSError(errno.EFBIG, f"it unpacks to more than {MOST_RATIO} times its size; unpack it yourself")
        return data

    def _broken(self, words: str) -> bytes:
        if self._told is None:
            raise OSError(errno.EIO, f"the packed file {words.removeprefix('it ')}")
        self._told.lose(f"{self._path.name}: the packed file is read as far as it goes, because {words}")
        return self._end()

    def _end(self) -> bytes:
        self._read1 = lambda size: b""
        return b""
