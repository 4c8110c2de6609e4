"""The website is built without a warning: each link leads to a page and a heading, and nothing comes from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from analysis import make_gallery, make_reference
from analysis.browser import CHROMIUM, browser
from tests.portions import some

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
"""What a browser fetches by itself, by element."""


class Fetched(HTMLParser):
    """The addresses of all that a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FETCHED:
            self.addresses += [value for name, value in attrs if name == FETCHED[tag] and value]


def built(folder: Path) -> list[Path]:
    """The pages of the website, built into a folder; a warning is a failure."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--conf-dir", "docs"]
    done = subprocess.run(
        [*command, "--doctree-dir", str(folder / "trees"), ".", str(folder / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return sorted((folder / "site").rglob("*.html"))


def test_the_site_is_built_without_a_warning_fetches_nothing_and_fits_every_screen(tmp_path):
    # One test, because each needs the whole site.
    pages = built(tmp_path)
    assert tmp_path / "site" / "index.html" in pages
    for path in pages:
        reader = Fetched()
        reader.feed(path.read_text(encoding="utf-8"))
        for address in reader.addresses:
            assert not re.match(r"\w+:|//", address) or address.startswith("data:"), f"{path.name} fetches {address}"
    for path in (tmp_path / "site" / "_static").rglob("*.css"):
        assert not re.search(r"@import|url\(\s*[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path
    if CHROMIUM is None:
        return
    with browser() as tab:
        for path in some(pages, 4):
            for width, dark in ((1400, False), (390, True)):
                tab.open(path, width=width, dark=dark)
                assert tab.errors == [], path.name
                assert all(request.startswith(("file:", "data:")) for request in tab.requests), path.name
                beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert tab.ask(beyond) == 0, f"{path.name} is wider than {width} pixels"


def test_the_gallery_has_every_picture_once_and_its_commands_exist():
    page = make_gallery.PAGE.read_text(encoding="utf-8")
    assert page == make_gallery.page(), "run: python -m analysis.make_gallery"
    shown = re.findall(r"^!\[.*\]\((.*)\)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.png"))
    for module in re.findall(r"python -m ([\w.]+)", page):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
    for file in re.findall(r"scenarios/\S+\.toml", page):
        assert (ROOT / file).exists(), file
    for study in re.findall(r"analysis\.papers\.sweep (.*) --out", page):
        assert all((ROOT / "scenarios" / "papers" / f"{name}.toml").exists() for name in study.split()), study


def test_the_python_reference_is_what_the_docstrings_say():
    page = make_reference.PAGE.read_text(encoding="utf-8")
    assert page == make_reference.page(), "run: python -m analysis.make_reference"


def test_every_word_of_the_glossary_stands_once():
    words = re.findall(r"^### (.*)$", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(words) == len(set(words)) > 30
