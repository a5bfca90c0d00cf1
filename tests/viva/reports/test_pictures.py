"""A page shows every picture of a long session, scaled down as far as it takes; no stranger's picture is trusted."""

from __future__ import annotations

import base64
import io
import random
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from tests.viva.reports.browser import Browser
from tests.viva.reports.made import keep_image, png, write_run
from tests.viva.reports.test_page import write_page
from viva.journal.scaled_pictures import scale_picture
from viva.journal.writer import Journal
from viva.records.transcript import Step
from viva.reports.page.images import ALL_LIMIT, ONE_LIMIT, PageImages


def screenshot(seed: int, size: tuple[int, int] = (1440, 810)) -> bytes:
    """A busy PNG: noise, which no format packs well, with windows and lines on it."""
    chance = random.Random(seed)
    tile = Image.frombytes("RGB", (960, 540), chance.randbytes(960 * 540 * 3))
    picture = tile.resize(size, Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(picture)
    for line in range(60):
        draw.text((chance.randrange(900), line * 13), f"line {line} of window {seed}", fill="white")
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=1)
    return out.getvalue()


def opened(uri: str | None) -> Image.Image:
    assert uri is not None
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(";base64,")[2])))


def test_all_of_two_hundred_screenshots_are_on_the_page_within_its_limit(tmp_path: Path, browser: Browser) -> None:
    kept: list[str] = []
    steps = []
    for number in range(200):
        if number < 6:
            kept.append(keep_image(tmp_path, screenshot(number, (960, 540))))
            assert (tmp_path / kept[number]).stat().st_size > ONE_LIMIT
        steps.append(Step(f"s{number}", tool="click", result="x" * 3000, images=(kept[number % 6],)))
    with Journal(tmp_path) as journal:
        write_run(journal, "a long session", steps=steps)
    target = write_page(tmp_path)
    assert target.stat().st_size < ALL_LIMIT * 4 / 3 + 2_000_000
    browser.go(target, "#run-0")
    assert browser.run("return document.querySelectorAll('details.step').length") == 200
    assert browser.run("return document.querySelectorAll('details.step img').length") == 200
    assert "are left out" not in browser.run("return document.body.innerText")
    browser.run("document.querySelector('.step img').scrollIntoView()")
    browser.until("document.querySelector('.step img').naturalWidth >= 480")


def test_a_large_round_keeps_every_step_and_loses_the_texts_of_the_last_ones(tmp_path: Path, browser: Browser) -> None:
    steps = [Step(f"s{number}", tool=f"tool {number}", result="word " * 3000) for number in range(100)]
    with Journal(tmp_path) as journal:
        write_run(journal, steps=steps)
    target = write_page(tmp_path)
    assert target.stat().st_size < 1_500_000
    browser.go(target, "#run-0")
    assert browser.run("return document.querySelectorAll('details.step').length") == 100
    summaries = browser.run(
        "return Array.from(document.querySelectorAll('details.step summary bdi'), (n) => n.textContent)"
    )
    assert summaries == [f"tool {number}" for number in range(100)]
    last = browser.run("const all = document.querySelectorAll('details.step'); return all[99].textContent")
    assert "viva replay shows them" in last
    assert "word word" in browser.run("return document.querySelector('details.step').textContent")


def test_a_small_picture_is_shown_as_it_is_and_a_large_one_scaled(tmp_path: Path) -> None:
    small, large = keep_image(tmp_path, png()), keep_image(tmp_path, screenshot(1))
    images = PageImages()
    assert images.uri(tmp_path, small) == f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    shown = images.uri(tmp_path, large)
    assert (shown or "").startswith("data:image/jpeg;base64,")
    assert len(shown or "") < ONE_LIMIT * 4 / 3 + 100
    assert opened(shown).width / opened(shown).height == pytest.approx(1440 / 810, rel=0.01)
    embedded = f"data:image/png;base64,{base64.b64encode(screenshot(2)).decode()}"
    assert opened(images.uri(tmp_path, embedded)).width >= 480


def test_what_shines_through_is_white_and_not_black() -> None:
    clear = io.BytesIO()
    Image.new("RGBA", (1600, 1200), (0, 0, 0, 0)).save(clear, "PNG")
    content = scale_picture(clear.getvalue(), 200_000)
    assert content is not None
    assert Image.open(io.BytesIO(content)).getpixel((5, 5)) == (255, 255, 255)


def bomb() -> bytes:
    """A PNG of a few kilobytes that says it is 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\x00" * 1_000_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "content",
    [bomb(), screenshot(3)[:5000], b"\x89PNG\r\n\x1a\n" + b"\x00" * 500_000, b"GIF89a" + b"\xff" * 500_000],
    ids=["bomb", "cut", "zeroes", "no gif"],
)
def test_a_picture_that_is_broken_or_a_bomb_is_left_out(content: bytes) -> None:
    assert scale_picture(content, 100_000) is None
