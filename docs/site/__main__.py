"""Builds the documentation as a site in `build/site`: `python -m docs.site`, with `--serve` also in the browser."""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docs.site.tree import ROOT, prepare

TREE = ROOT / "build" / "docs"
SOME_WORDS = Path(__file__).with_name("some_words.js")
OUT = ROOT / "build" / "site"
ENVIRONMENT = Path(os.environ.get("VIVA_ENVIRONMENTS") or ROOT / ".ci" / "environments") / "site"


def build(tree: Path = TREE, out: Path = OUT, address: str = "") -> int:
    """Build the site strictly: any warning fails the build.

    Args:
        tree: The folder in which the pages are prepared.
        out: The folder of the site.
        address: Where the site will be, for the page that says that there is no such page. Default: the root of a host.

    Returns:
        The exit code.
    """
    prepare(tree, address)
    program = ENVIRONMENT / "bin" / "zensical"
    if not program.exists():
        print(f"{program} is missing; tests/environments/make site installs it", file=sys.stderr)
        return 2
    command = [str(program), "build", "--strict", "--clean", "-f", str(tree / "zensical.toml")]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    if done.returncode or "No issues found" not in said:
        print(said.partition("Traceback")[0], file=sys.stderr)
        return 1
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(tree / "site", out)
    # The search of the generator finds only sections that have all words.
    (worker,) = (out / "assets" / "javascripts" / "workers").glob("search.*.js")
    with worker.open("a", encoding="utf-8") as opened:
        opened.write(SOME_WORDS.read_text(encoding="utf-8"))
    print(f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages, no warnings")
    return 0


def serve(out: Path = OUT) -> None:
    """Serve the site on this machine only, until Ctrl-C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(out))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler) as server:
        print("http://127.0.0.1:8000/")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m docs.site", description="Build the documentation as a site.")
    parser.add_argument("--serve", action="store_true", help="serve the site on 127.0.0.1:8000 after it was built")
    parser.add_argument(
        "--address", default="", help="where the site will be published, such as https://OWNER.github.io/viva/"
    )
    given = parser.parse_args()
    code = build(address=given.address)
    if code == 0 and given.serve:
        serve()
    sys.exit(code)
