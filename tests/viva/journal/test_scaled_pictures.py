"""A picture is looked at before it is shown: what shows nothing, or cannot be decoded, is told from what does."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.ufo_folders import flat_picture, picture
from viva.journal.scaled_pictures import MOST_PIXELS, PictureFacts, look_at


def test_a_picture_has_a_size_and_shows_something() -> None:
    assert look_at(picture("hello", (320, 200))) == PictureFacts(320, 200, blank=False)


@pytest.mark.parametrize(
    "content",
    [flat_picture(), flat_picture((2, 500)), flat_picture((640, 480), "#000000"), flat_picture((640, 480), "#a1b2c3")],
    ids=["one pixel", "a line", "black", "one colour"],
)
def test_a_placeholder_is_blank(content: bytes) -> None:
    look = look_at(content)
    assert look is not None
    assert look.blank


def test_a_picture_that_is_transparent_all_over_is_blank() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (50, 50), (200, 10, 10, 0)).save(out, "PNG")
    look = look_at(out.getvalue())
    assert look is not None
    assert look.blank


def test_one_pixel_of_another_colour_is_something() -> None:
    image = Image.new("RGB", (400, 300), "#ffffff")
    image.putpixel((399, 299), (0, 0, 0))
    out = io.BytesIO()
    image.save(out, "PNG")
    assert look_at(out.getvalue()) == PictureFacts(400, 300, blank=False)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", picture("x")[:400], b"<svg/>", b"GIF89a"])
def test_what_cannot_be_decoded_is_none(content: bytes) -> None:
    assert look_at(content) is None


def test_a_small_file_that_holds_a_giant_is_not_decoded() -> None:
    out = io.BytesIO()
    Image.new("1", (MOST_PIXELS // 1000 + 1, 1000)).save(out, "PNG")
    assert len(out.getvalue()) < 100_000
    assert look_at(out.getvalue()) is None
