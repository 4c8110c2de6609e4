"""Write docs/gallery.md: every picture of docs/, with the commands that draw it and the page that explains it.

    python -m analysis.make_gallery

A caption of a study is the question of docs/studies.md. That of a paper's figure is the first line of the module that
draws it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "gallery.md"

HEAD = """# Gallery

<!-- Written by: python -m analysis.make_gallery -->

Every picture of these pages, with the commands that draw it. Commands run in the project's folder with its environment
active; a study goes on where it was stopped. The numbers behind a picture are in the table beside it (`.csv`).
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A file of docs/, what it shows, the commands that draw it, and where it is explained."""

    file: str
    caption: str
    commands: tuple[str, ...]
    page: str

    def __str__(self) -> str:
        shell = "\n".join(self.commands)
        title = (DOCS / self.page).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        picture, told = f"![{self.caption}]({self.file})", f"Explained in [{title}]({self.page})."
        return f"### {self.caption}\n\n{picture}\n\n```sh\n{shell}\n```\n\n{told}\n"


ONE_RUN = (
    Picture("quickstart.png", "Test error and bytes sent, against simulated time", ("make figure",), "results.md"),
    Picture("report.png", "The page of a run: charts, the graph, a replay", ("make figure",), "report.md"),
)
PRIVACY = (
    Picture(
        "error_and_epsilon.png",
        "Test error against ε: the papers' calibration and the proven one",
        ("python -m analysis.error_and_epsilon --output docs/error_and_epsilon.png",),
        "results.md",
    ),
    Picture(
        "audit.png",
        "An audit that finds half of the noise missing",
        ("simnet audit scenarios/audit/half-noise.toml    # audit.png in the folder that it names",),
        "audit.md",
    ),
)
NETWORK = (
    Picture(
        "duals_under_loss.png",
        "Distance to the centralised optimum against the share of lost messages",
        (
            "python -m analysis.duals_under_loss scenarios/networks/duals-under-loss.toml "
            "--output docs/duals_under_loss.png",
        ),
        "network.md",
    ),
)


def of_studies() -> list[Picture]:
    """The shipped studies in the order of docs/studies.md."""
    shown = re.findall(
        r"^!\[(.+)\]\(studies/(.+)\.png\)$", (DOCS / "studies.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    draw = "python -m analysis.studies results --output docs/studies --page docs/studies.md"
    return [
        Picture(
            f"studies/{name}.png",
            question,
            (f"simnet sweep scenarios/studies/{name}.toml --out results", draw),
            "studies.md",
        )
        for question, name in shown
    ]


def of_the_frontier() -> list[Picture]:
    """The pictures of docs/frontier.md."""
    shown = re.findall(
        r"^!\[(.+)\]\((frontier/.+\.png)\)$", (DOCS / "frontier.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return [Picture(file, caption, ("make frontier",), "frontier.md") for caption, file in shown]


def of_the_papers() -> list[Picture]:
    """The papers' figures, by the modules that draw them."""
    found = []
    for path in sorted((ROOT / "analysis" / "papers").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "main" and node.args
        ]
        for call in calls:
            name = ast.literal_eval(call.args[0])
            studies = ast.literal_eval(call.args[3]) if len(call.args) > 3 else [name]
            if (DOCS / "figures" / f"{name}.png").exists():
                caption = (ast.get_docstring(tree) or name).splitlines()[0].rstrip(".")
                commands = (
                    f"python -m analysis.papers.sweep {' '.join(studies)} --out results",
                    f"python -m analysis.papers.{path.stem}",
                )
                found.append(Picture(f"figures/{name}.png", caption, commands, "reproduction.md"))
    return found


def page() -> str:
    """The whole of docs/gallery.md."""
    sections = {
        "One run": ONE_RUN,
        "Studies": of_studies(),
        "Few models": of_the_frontier(),
        "Privacy": PRIVACY,
        "Network": NETWORK,
        "The papers' figures": of_the_papers(),
    }
    blocks = [f"## {title}\n\n" + "\n".join(map(str, pictures)) for title, pictures in sections.items()]
    return "\n".join([HEAD, *blocks])


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
