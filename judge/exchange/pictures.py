"""Names the pictures of requests as a journal names them; the pictures themselves are not kept with the requests."""

from __future__ import annotations

from viva.journal.kept_files import name_for
from viva.models.model import PictureFile
from viva.records.exchange.exchanges import PictureName


def name_of_picture(picture: PictureFile) -> PictureName:
    """Return the name of a picture, made from its content."""
    ending = "jpeg" if picture.content.startswith(b"\xff\xd8\xff") else "png"
    return PictureName(name_for("images", picture.content, ending))
