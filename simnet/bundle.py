"""A run in one archive that a stranger checks: log, tables, scenario, report, environment, citation, and files it read.

The archive is a ZIP file in which nothing is packed, with fixed times: the same run gives the same bytes, and what it
holds is what it weighs, so no archive of a few kilobytes unpacks to gigabytes. `ro-crate-metadata.json` (RO-Crate 1.1)
lists every file with its size and SHA-256. Whoever can write the archive can write that list too: only the log says
whether a run like this is possible, and only a second run that it happened.
"""

from __future__ import annotations

import datetime
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath

from simnet.agent.pacing import ALIGNED
from simnet.allowance import Allowance, read_whole
from simnet.errors import LogError, ScenarioError, SimnetError
from simnet.learning.archives import check_directory
from simnet.record.atomic import refusing, temporary_folder, write_file
from simnet.record.events import RunStarted
from simnet.record.folder import load_bytes, load_json, slug
from simnet.record.log import LOG, find_log, read
from simnet.record.verify import replay, verify
from simnet.report import report
from simnet.scenario.embedded import embedded_scenario
from simnet.scenario.inputs import check_inputs, named_files, row_files

METADATA = "ro-crate-metadata.json"
_RUN = (LOG, "scenario.toml", "summary.json", "rounds.csv", "agents.csv", "environment.json")
_FORMATS = {".json": "application/json", ".csv": "text/csv", ".html": "text/html", ".zst": "application/zstd"}
_NAME = re.compile(r"(?!.*(^|/)\.\.?(/|$))[A-Za-z0-9_.+-]{1,80}(/[A-Za-z0-9_.+-]{1,80}){0,8}")
"""Names inside an archive: plain ones, which lead nowhere else."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_CHUNK = 1 << 20
_COPIES = 3
"""How often a file is there while the archive is made: alone, in the archive, and in what is written."""
_SHOWN = 20
_LONGEST = 100
"""Characters of a stranger's name or sentence that are told."""


def bundle(
    run: Path, output: Path | None = None, *, date: str, public_rows: bool = False, inputs: bool = False
) -> Path:
    """Write the archive of a run folder, by default `<name>-<digest12>.zip` beside where one works.

    Args:
        run: a published record; or any run folder with `public_rows`.
        output: the file.
        date: the day of publication, as in 2026-01-31; RO-Crate asks for one.
        public_rows: the rows are no secret.
        inputs: also copy the files that the run read; files of rows only with `public_rows`.
    """
    folder = find_log(run).parent
    checked = verify(folder, ALIGNED, embedded_scenario)
    findings = [*checked.findings, *(replay(folder, embedded_scenario).findings if not checked.findings else ())]
    if findings:
        raise LogError(f"{run} is not whole, so no archive is made of it: {findings[0]}")
    _check_day(date)
    _, _, start = next(read(folder))
    assert isinstance(start, RunStarted)
    if not (start.published or public_rows):
        raise LogError(
            f"{run} sees rows without noise: bundle what `simnet publish` makes of it, or say --public-rows if its "
            "rows are no secret"
        )
    members = {name: load_bytes(folder / name) for name in _RUN if (folder / name).is_file()}
    members |= _inputs(start, folder, public_rows=public_rows) if inputs else {}
    with temporary_folder("the report") as place:
        members["report.html"] = report(folder, place / "report.html").read_bytes()
    members["CITATION.cff"] = _citation(start, checked.digest, date).encode()
    members[METADATA] = _metadata(start, checked.digest, date, members)
    target = Path(f"{slug(str(start.scenario['name']))}-{checked.digest[:12]}.zip") if output is None else Path(output)
    with refusing(target, "the archive cannot be written"):
        write_file(target, _zipped(members))
    return target


def _check_day(date: str) -> None:
    try:
        if datetime.date.fromisoformat(date).isoformat() == date:
            return
    except ValueError:
        pass
    raise SimnetError(f"date = {date}: a day is written as 2026-01-31")


def _inputs(start: RunStarted, folder: Path, *, public_rows: bool) -> dict[str, bytes]:
    """The files that the run read, under the names by which its scenario finds them again."""
    scenario = embedded_scenario(start, folder)
    check_inputs(scenario, start.files, start.data)
    files = {name: path for name, path in named_files(scenario).items() if name in start.files}
    files |= {name: path for name, path in row_files(scenario).items() if name in start.data} if public_rows else {}
    for name in files:
        if not _NAME.fullmatch(name) or name in (*_RUN, METADATA, "report.html", "CITATION.cff"):
            raise ScenarioError(f"{name}: an archive cannot hold a file of this name; put it beside the scenario")
    return dict(_whole(files))


def _whole(files: Mapping[str, Path]) -> Iterator[tuple[str, bytes]]:
    """What the files hold; all of them together must fit into the memory, beside the archive that is made of them."""
    allowance = Allowance(SimnetError)
    for name, path in files.items():
        try:
            content = read_whole(path, allowance, _COPIES)
            allowance.take(_COPIES * len(content), f"{len(content):,} bytes more")
        except SimnetError as error:
            raise SimnetError(f"{name}: {error}") from None
        except OSError as error:
            raise SimnetError(f"{name}: cannot be read ({error.strerror})") from None
        yield name, content


def _citation(start: RunStarted, digest: str, date: str) -> str:
    """How to cite the run, in the Citation File Format."""
    title = json.dumps(f"{start.scenario['name']} (a run of simnet)")
    lines = ("cff-version: 1.2.0", "message: Please cite this run and simnet.", "type: dataset", f"title: {title}")
    software = (
        "references:",
        "  - type: software",
        '    title: "simnet"',
        f"    version: {json.dumps(start.version)}",
        "    authors:",
        "      - name: The simnet authors",
    )
    mine = ("authors:", "  - name: The authors of this run", f"version: {json.dumps(digest)}", f"date-released: {date}")
    return "\n".join((*lines, *mine, *software)) + "\n"


def _metadata(start: RunStarted, digest: str, date: str, members: Mapping[str, bytes]) -> bytes:
    """ro-crate-metadata.json; files that the run read and that are not here stand in it with their SHA-256."""
    files = [
        {"@id": name, "@type": "File", "name": name, "contentSize": str(len(content))}
        | {"encodingFormat": _FORMATS.get(Path(name).suffix, "text/plain"), "sha256": sha256(content).hexdigest()}
        for name, content in members.items()
    ]
    elsewhere = [
        {"@id": f"#{sum_}", "@type": "CreativeWork", "name": name, "sha256": sum_}
        for name, sum_ in {**start.files, **start.data}.items()
        if name not in members
    ]
    name = str(start.scenario["name"])
    about = f"A run of {start.scenario['algorithm']['name']} by {len(start.rows)} agents; digest {digest}."
    read_by = [{"@id": each["@id"]} for each in elsewhere] + [{"@id": each} for each in members if each in start.files]
    graph = [
        {"@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"}}
        | {"conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}},
        {"@id": "./", "@type": "Dataset", "name": name, "description": about, "datePublished": date}
        | {"identifier": digest, "mentions": {"@id": "#run"}, "hasPart": [{"@id": each} for each in members]},
        {"@id": "#simnet", "@type": "SoftwareApplication", "name": "simnet", "version": start.version},
        {"@id": "#run", "@type": "CreateAction", "name": name, "instrument": {"@id": "#simnet"}}
        | {"object": [{"@id": "scenario.toml"}, *read_by], "result": {"@id": LOG}},
        *files,
        *elsewhere,
    ]
    context = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://schema.org/sha256"}]
    return (json.dumps({"@context": context, "@graph": graph}, indent=2, ensure_ascii=False) + "\n").encode()


def _zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, members[name])
    return out.getvalue()


@contextmanager
def opened(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A folder with what an archive holds, for a while, and where that is not what its list says.

    The archive may be a stranger's: LogError if it is packed, or its names lead elsewhere.
    """
    with temporary_folder("what an archive holds") as folder:
        try:
            _unpack(path, folder)
        except SimnetError:
            raise
        except (zipfile.BadZipFile, RuntimeError, ValueError, OSError, EOFError) as error:
            raise LogError(f"{path}: no archive that `simnet bundle` wrote ({str(error)[:_LONGEST]})") from None
        yield folder, _unlisted(folder)


def _unpack(path: Path, folder: Path) -> None:
    check_directory(path)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        names = {entry.filename.casefold() for entry in entries}
        if len(names) < len(entries):
            raise LogError(f"{path}: a name is there twice")
        for entry in entries:
            if not _NAME.fullmatch(entry.filename):
                raise LogError(f"{path}: {entry.filename[:80]!r} is no name of a file in an archive")
            if any(str(above) in names for above in PurePosixPath(entry.filename.casefold()).parents):
                raise LogError(f"{path}: {entry.filename} lies in a file, not in a folder")
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise LogError(f"{path}: {entry.filename} is packed, which `simnet bundle` does not do")
        if sum(entry.file_size for entry in entries) > path.stat().st_size:
            raise LogError(f"{path}: its files overlap: together they are longer than the archive")
        for entry in entries:
            target = folder / entry.filename
            with archive.open(entry) as content, refusing(path, "TMPDIR has no room for what it holds"):
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:
                    while piece := content.read(_CHUNK):
                        file.write(piece)


def _unlisted(folder: Path) -> list[str]:
    """Where the files are not those that the list names."""
    graph = load_json(folder / METADATA)
    entries = graph.get("@graph") if isinstance(graph, dict) else None
    if not isinstance(entries, list):
        raise LogError(f"{METADATA} lists no files")
    listed = {str(each.get("@id")): each for each in entries if isinstance(each, dict) and each.get("@type") == "File"}
    found = {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()} - {METADATA}
    findings = [f"{name[:_LONGEST]} is listed and not there" for name in sorted(listed.keys() - found)]
    findings += [f"{name} is there and not listed" for name in sorted(found - listed.keys())]
    for name in sorted(found & listed.keys()):
        with (folder / name).open("rb") as file:
            here = _sum(file)
        if here != listed[name].get("sha256"):
            findings.append(f"{name} is not the file that is listed: its SHA-256 begins with {here[:12]}")
    return findings[:_SHOWN]


def _sum(file: io.BufferedReader) -> str:
    hasher = sha256()
    while piece := file.read(_CHUNK):
        hasher.update(piece)
    return hasher.hexdigest()
