"""The commands that show and write what is there to start from, and what has been run: list, scenarios, init, runs."""

from __future__ import annotations

import json as jsons
from pathlib import Path
from typing import Annotated

import typer

from simnet.cli.options import Json
from simnet.cli.output import say


def list_(
    file: Annotated[
        Path | None, typer.Argument(help="A Python file of your own parts; its code runs.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> None:
    """List algorithms, topologies, links and all other parts. Of a Python file: its parts, with their fields."""
    from simnet.cli.terminal import fact_tables, show, show_json
    from simnet.parts.foreign import installed

    if file is not None:
        from simnet.scenario.own_parts import described

        found = described(file)
    else:
        found = jsons.loads((Path(__file__).parents[1] / "catalogue.json").read_text(encoding="utf-8"))
        brought = {point.name: point.value for point in installed()}
        found |= {"parts of other packages": brought} if brought else {}
    if json:
        show_json(found)
    else:
        show(*fact_tables(found))


def scenarios(json: Json = False) -> None:
    """List the scenarios and studies that come with simnet. `simnet init --from NAME` writes one."""
    from simnet.cli import shipped
    from simnet.cli.terminal import fact_tables, show, show_json

    found = {name: shipped.about(name) for name in shipped.names()}
    if json:
        show_json(found)
        return
    folders: dict[str, dict[str, str]] = {}
    for name, about in found.items():
        folders.setdefault(name.rpartition("/")[0] or "scenarios", {})[name] = about
    show(*fact_tables(folders))


def init(
    path: Annotated[Path | None, typer.Argument(help="File to write; default: scenario.toml.", metavar="FILE")] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="Write one of `simnet scenarios`, and the files it names."),
    ] = None,
    method: Annotated[
        Path | None, typer.Option(help="Write a commented method of your own into this file instead.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented scenario, or a method, to start from. `--from` writes one of simnet's own scenarios."""
    if method is not None:
        from importlib.resources import files

        text = (files("simnet.check") / "starter_method.txt").read_text(encoding="utf-8")
        _write({method: text.replace("my_method.py", method.name)}, force=force)
        say(f"wrote {method}; now: simnet check {method}:NoisyDescent")
        return
    if source is not None:
        from simnet.cli import shipped

        (name, text), *beside = shipped.files(source).items()
        path = path or Path(name)
        _write({path: text} | {path.parent / place: found for place, found in beside}, force=force)
        also = f", {', '.join(str(path.parent / place) for place, _ in beside)}" if beside else ""
        say(f"wrote {path}{also}; now: simnet {shipped.command(source)} {path}")
        return
    from simnet.scenario.reference import commented

    path = path or Path("scenario.toml")
    _write({path: commented()}, force=force)
    say(f"wrote {path}; now: simnet run {path}")


def schema(
    of: Annotated[str, typer.Argument(help="`scenario` or `study`.", metavar="FILE")] = "scenario",
) -> None:
    """Print the JSON Schema of scenario or study files. With it an editor completes fields and marks mistakes."""
    from simnet.cli.terminal import show_json
    from simnet.errors import SimnetError
    from simnet.scenario.json_schema import scenario_schema, study_schema

    if of not in ("scenario", "study"):
        raise SimnetError(f"{of}: there is a schema of `scenario` files and one of `study` files")
    if of == "scenario":
        show_json(scenario_schema())
        return
    from simnet.studies.spec import StudyFile

    show_json(study_schema(StudyFile))


def runs(
    out: Annotated[Path, typer.Argument(help="Where run folders are.", metavar="FOLDER")] = Path("runs"),
    json: Json = False,
) -> None:
    """List run folders, newest last, with their key figures."""
    from simnet.cli.run_list import listed, runs_table
    from simnet.cli.terminal import show, show_json

    found = listed(out)
    if json:
        show_json(found)
    elif found:
        show(runs_table(found))
    else:
        say(f"{out}: there are no run folders")


def _write(texts: dict[Path, str], *, force: bool) -> None:
    from simnet.errors import SimnetError

    for path, text in texts.items():
        if path.exists() and not force:
            raise SimnetError(f"{path} exists already: choose another name, or --force to replace it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w" if force else "x", encoding="utf-8") as handle:
                handle.write(text)
        except OSError as error:
            raise SimnetError(f"{path}: {error.strerror}") from None
