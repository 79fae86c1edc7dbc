"""The pictures of docs/page.md and README.md: the example on the page, with the checkpoints in
``ckpt/``, and a sentence that was typed. Needs Debian's ``chromium`` and ``fonts-dejavu``, and
``pip install playwright``.

    python docs/screenshots.py            # writes docs/images/page-*.png

``--models`` takes other checkpoints, ``--out`` another folder.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
VIEW = "list=example&sentence=2"
Colours = Literal["light", "dark"]
TYPED: dict[str, tuple[Colours, int, int]] = {  # of the sentence: colours, width, height
    "desktop-text": ("light", 1280, 800),
    "desktop-dark": ("dark", 1280, 800),
    "phone-light": ("light", 390, 844),
    "phone-dark": ("dark", 390, 844),
}
SENTENCE = "I saw the man with the telescope."
PATIENCE = 600_000  # milliseconds: the example has 250 trees, and four models read them
COLOURS = 96  # of a picture's palette, which makes it a third of the size


@contextmanager
def serving(models: list[str]) -> Iterator[str]:
    """Start a server; yield its address."""
    command = [
        sys.executable,
        "-m",
        "reranker",
        "serve",
        "--models",
        *models,
        "--port",
        "0",
        "--log-format",
        "json",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if match := re.search(r"http://[^\s\"]+:\d+", line):
                yield match[0]
                return
        raise SystemExit("the server did not start")
    finally:
        process.terminate()
        process.wait()


def take(page: Page) -> bytes:
    """Return a screenshot, as PNG, of a page with the list."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.evaluate("view => (location.hash = view)", VIEW)
    page.locator("#sentence-1[aria-selected=true]").wait_for(state="attached")
    return shot(page)


def take_typed(page: Page, colours: Colours, width: int, height: int) -> bytes:
    """Return a screenshot of a sentence typed into the page."""
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    page.fill("#text", SENTENCE)
    page.click("#parse")
    page.wait_for_selector("#sentence-0", state="attached")
    page.wait_for_selector("#progress", state="hidden")
    return shot(page)


def shot(page: Page) -> bytes:
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
    page.wait_for_timeout(500)
    return page.screenshot()


def save(png: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path, path.stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    checkpoints = sorted(map(str, (ROOT / "ckpt").glob("*.pt")))
    parser.add_argument("--models", nargs="+", default=checkpoints, metavar="FILE")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", metavar="FOLDER")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with serving(arguments.models) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.locator("#about[title]").wait_for(state="attached")  # the models are there
        for name, asked in TYPED.items():
            save(take_typed(page, *asked), arguments.out / f"page-{name}.png")
        page.goto(address)
        page.reload()
        page.locator("#about[title]").wait_for(state="attached")
        page.click("#lists-part > summary")
        page.click("#example")
        page.wait_for_selector("#sentence-4", state="attached")
        page.wait_for_selector("#progress", state="hidden")
        save(take(page), arguments.out / "page-desktop-light.png")
        browser.close()


if __name__ == "__main__":
    main()
