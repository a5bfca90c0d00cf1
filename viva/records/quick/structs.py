"""Makes the structs that stand for records, in a way that threads can use them at once."""

from __future__ import annotations

from typing import Any

import msgspec


def define(name: str, fields: list[Any], **options: Any) -> type[msgspec.Struct]:
    """Return a new struct that is ready to be used by any number of threads.

    msgspec finds out what it needs to know of a struct's fields when the struct is first used, and keeps it on the
    class before it is complete. A second thread that comes meanwhile reads a null pointer, and the process dies
    (msgspec 0.22). So this happens here, while nobody else has the struct.

    Args:
        name: The name of the struct.
        fields: As `msgspec.defstruct` takes them. Structs among their types have to be made by this function, too.
        options: Further options of `msgspec.defstruct`.
    """
    struct = msgspec.defstruct(name, fields, **options)
    msgspec.json.Decoder(struct)
    return struct
