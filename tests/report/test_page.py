"""The file as text: nothing is loaded, nothing that a user wrote becomes markup."""

from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis.palette import COLOURS
from simnet import Scenario, run
from simnet.errors import SimnetError
from simnet.methods import METHODS
from simnet.report import report
from simnet.report.page import asset, colours, embedded

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & 'co'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    quick = {
        "name": EVIL,
        "rounds": 2,
        "data": {"source": "synthetic", "rows": 200, "features": 3},
        "topology": {"kind": "ring", "agents": 3},
        "algorithm": {"name": "admm"},
    }
    stored = run(Scenario.of(quick), tmp_path_factory.mktemp("runs")).folder
    assert stored is not None
    return stored


@pytest.fixture(scope="module")
def page(folder) -> str:
    written = report(folder)
    assert written == folder / "report.html"
    return written.read_text(encoding="utf-8")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def brightness(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("method", METHODS)
def test_the_line_of_every_method_is_seen_on_a_dark_page(method):
    card = re.findall(r"--card: (#\w{6});", asset("page.css"))[1]
    assert (brightness(colours(method)[1]) + 0.05) / (brightness(card) + 0.05) > 3


def test_a_name_full_of_markup_stays_a_name(page):
    tags = Tags()
    tags.feed(page)
    names = [tag for tag, _ in tags.seen]
    assert names.count("script") == 2
    assert "img" not in names
    assert unescape(re.search(r"<h1>(.*?)</h1>", page, re.S)[1]) == EVIL
    assert json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["method"] == "admm"


def test_nothing_in_the_page_points_outside(page):
    tags = Tags()
    tags.feed(page)
    for tag, attributes in tags.seen:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", page)


def test_the_policy_names_the_only_script_by_its_hash(page):
    script = re.search(r'<script type="module">(.*?)</script>', page, re.S)[1]
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in page or f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_embedded_data_read_back_whatever_they_hold():
    hostile = {"a": "</script><!--<script>", "b": ["\u2028\u2029", 1.5, None]}
    text = embedded(hostile)
    assert "<" not in text
    assert json.loads(text) == hostile


def test_the_same_run_gives_the_same_page(folder, page, tmp_path):
    assert report(folder, tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_the_page_is_written_as_a_whole_or_not_at_all(folder, tmp_path):
    target = tmp_path / "page.html"
    target.mkdir()
    with pytest.raises(SimnetError, match="the report cannot be written"):
        report(folder, target)
    assert list(tmp_path.iterdir()) == [target]


def test_a_method_has_the_same_colour_on_pages_and_in_figures():
    assert METHODS.keys() == COLOURS.keys()
