"""How `make site` makes a website of the Markdown pages, which stay as they are for whoever reads them elsewhere.

The source folder is the whole project, so that links between pages, and to scenarios and tables, are the same here and
there. Sphinx with MyST reads CommonMark as code hosts do. Nothing is fetched from elsewhere: not to build, not to read.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from simnet.version import VERSION

ROOT = Path(__file__).parents[1]
CONTENTS = "docs/index"

project = "simnet"
version = release = VERSION
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md"]
# Folders that hold no page are not walked through. The table of docs/skip_test.md stands in another page.
exclude_patterns = [".*", "analysis", "benchmarks", "scenarios", "simnet", "tests", "runs", "results", "build", "site"]
exclude_patterns += ["docs/skip_test.md"]
highlight_language = "none"
nitpicky = True
myst_heading_anchors = 4

html_theme = "furo"
html_title = "simnet"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False


def contents() -> str:
    """The table of contents: the headings and the links of docs/index.md."""
    blocks = [f"```{{toctree}}\n:hidden:\n\nAll pages </{CONTENTS}>\n```"]
    for section in (ROOT / f"{CONTENTS}.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        links = re.findall(r"^- \[([^\]]+)\]\(([^)#]+\.md)\)", text, re.MULTILINE)
        entries = [f"{name.replace('`', '')} </{(Path('docs') / file).as_posix()}>" for name, file in links]
        blocks.append("\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *entries, "```"]))
    return "\n\n".join(blocks)


def on_read(_: Sphinx, name: str, source: list[str]) -> None:
    """The front page gets the table of contents; a link to a folder becomes text, for a website shows none."""
    here = (ROOT / name).parent
    source[0] = re.sub(r"\[([^\]]+)\]\(([^):#]+)\)", lambda m: m[1] if (here / m[2]).is_dir() else m[0], source[0])
    if name == root_doc:
        source[0] += f"\n\n{contents()}\n"


def on_end(app: Sphinx, failure: Exception | None) -> None:
    """The front page is found under the name that a browser asks for."""
    if failure is None:
        shutil.copy(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", on_read)
    app.connect("build-finished", on_end)
