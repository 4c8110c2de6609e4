"""The scenarios that come with simnet: folder `scenarios` of the repository, which a wheel has beside this module."""

from __future__ import annotations

import re
from pathlib import Path

from simnet.errors import SimnetError

_HERE = Path(__file__).parent
_FILE = re.compile(r"[\w./-]+\.(?:py|csv|txt|graphml)\b")
_BASE = re.compile(r'^base = "(.+)"$', re.MULTILINE)
"""What a scenario may name beside it, and a study."""


def folder() -> Path:
    """Where they are."""
    packed = _HERE / "shipped"
    return packed if packed.is_dir() else _HERE.parents[1] / "scenarios"


def names() -> list[str]:
    """All of them, those at the top first: `quickstart`, `networks/commuters`, …"""
    found = [path.relative_to(folder()).with_suffix("").as_posix() for path in folder().rglob("*.toml")]
    return sorted(found, key=lambda name: (name.count("/"), name))


def about(name: str) -> str:
    """The first line of what a scenario says of itself."""
    with (folder() / f"{name}.toml").open(encoding="utf-8") as handle:
        return handle.readline().lstrip("# ").strip()


def command(name: str) -> str:
    """What runs it."""
    if name.startswith("audit/"):
        return "audit"
    return "sweep" if _BASE.search((folder() / f"{name}.toml").read_text(encoding="utf-8")) else "run"


def files(name: str) -> dict[str, str]:
    """What to write for a scenario: its own text and that of the files that it names, by their places beside it."""
    if name not in names():
        raise SimnetError(f"--from {name}: there is no such scenario; `simnet scenarios` lists them")
    home = (folder() / f"{name}.toml").parent
    text = (folder() / f"{name}.toml").read_text(encoding="utf-8")
    found = {}
    named = {*_FILE.findall(text), *_BASE.findall(text)}
    for word in sorted(word for word in named if (home / word).is_file()):
        place = word.rpartition("/")[2] if word.startswith("../") else word
        found[place] = (home / word).read_text(encoding="utf-8")
        text = text.replace(word, place)
    return {f"{Path(name).name}.toml": text, **found}
