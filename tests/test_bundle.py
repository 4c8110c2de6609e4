"""A run in one archive: the same bytes every time, checked by a stranger, and no way to harm whoever opens it."""

from __future__ import annotations

import json
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from simnet import run
from simnet.bundle import METADATA, bundle
from simnet.errors import LogError, SimnetError
from tests.called import called
from tests.worlds import world

DAY = "2026-01-31"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    found = run(world(rounds=3), tmp_path_factory.mktemp("runs")).folder
    assert found is not None
    return found


@pytest.fixture(scope="module")
def archive(folder, tmp_path_factory) -> Path:
    return bundle(folder, tmp_path_factory.mktemp("bundles") / "run.zip", date=DAY, public_rows=True)


def contents(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def rewritten(archive: Path, target: Path, changes: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> str:
    with zipfile.ZipFile(target, "w", how) as opened:
        for name, content in (contents(archive) | changes).items():
            opened.writestr(name, content)
    return str(target)


def test_the_same_run_gives_the_same_bytes(folder, archive, tmp_path):
    again = bundle(folder, tmp_path / "again.zip", date=DAY, public_rows=True)
    assert again.read_bytes() == archive.read_bytes()


def test_a_stranger_checks_it_with_one_command(archive):
    code, out, _ = called("log", "verify", str(archive))
    assert (code, "the log holds" in out) == (0, True)
    code, out, _ = called("log", "verify", "--rerun", "--json", str(archive))
    assert (code, json.loads(out)[0]["findings"], json.loads(out)[0]["run"]) == (0, [], str(archive))


def test_it_is_an_ro_crate_that_lists_all_it_holds(archive, folder):
    held = contents(archive)
    crate = json.loads(held[METADATA])
    entries = {entry["@id"]: entry for entry in crate["@graph"]}
    assert crate["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    assert entries[METADATA]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert {part["@id"] for part in entries["./"]["hasPart"]} == held.keys() - {METADATA}
    assert all(int(entries[name]["contentSize"]) == len(held[name]) for name in held if name != METADATA)
    assert entries["./"]["datePublished"] == DAY
    assert entries["./"]["identifier"] == json.loads((folder / "summary.json").read_text())["digest"]
    assert {"report.html", "CITATION.cff", "environment.json", "scenario.toml"} < held.keys()


@pytest.mark.parametrize("name", ["summary.json", "rounds.csv", "report.html", "CITATION.cff"])
def test_a_changed_file_is_found(archive, tmp_path, name):
    code, out, _ = called(
        "log", "verify", rewritten(archive, tmp_path / "a.zip", {name: contents(archive)[name] + b" "})
    )
    assert code == 1
    assert f"{name} is not the file that is listed" in out


def test_a_table_that_is_forged_with_its_entry_in_the_list_is_found_by_the_log(archive, tmp_path):
    held = contents(archive)
    forged = held["rounds.csv"].replace(b"\n1,", b"\n7,", 1)
    assert forged != held["rounds.csv"]
    old, new = (sha256(each).hexdigest().encode() for each in (held["rounds.csv"], forged))
    changes = {"rounds.csv": forged, METADATA: held[METADATA].replace(old, new)}
    code, out, _ = called("log", "verify", rewritten(archive, tmp_path / "a.zip", changes))
    assert (code, "rounds.csv" in out) == (1, True)


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", "a\\b", "./x", "x\n"])
def test_no_file_is_written_elsewhere(archive, tmp_path, name):
    code, _, refusal = called("log", "verify", rewritten(archive, tmp_path / "a.zip", {name: b"!"}))
    assert code == 2
    assert "is no name of a file in an archive" in refusal
    assert not (tmp_path.parent / "out.txt").exists()


def test_an_archive_that_is_packed_is_refused_before_it_is_unpacked(archive, tmp_path):
    bomb = rewritten(archive, tmp_path / "a.zip", {"zeros": bytes(10_000_000)}, zipfile.ZIP_DEFLATED)
    code, _, refusal = called("log", "verify", bomb)
    assert (code, "is packed" in refusal) == (2, True)


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-30], lambda raw: raw[:100], lambda raw: b"", lambda raw: b"PK" * 99]
)
def test_a_damaged_archive_is_a_sentence(archive, tmp_path, damage):
    (tmp_path / "a.zip").write_bytes(damage(archive.read_bytes()))
    code, _, refusal = called("log", "verify", str(tmp_path / "a.zip"))
    assert (code, "no archive" in refusal) == (2, True)


def test_a_record_that_sees_rows_is_not_given_away_by_accident(folder, tmp_path):
    with pytest.raises(LogError, match="bundle what `simnet publish` makes of it"):
        bundle(folder, tmp_path / "a.zip", date=DAY)
    assert not (tmp_path / "a.zip").exists()


def test_a_published_record_is_bundled_without_its_rows_being_public(folder, tmp_path):
    code, _, _ = called("publish", str(folder), "--out", str(tmp_path), "--public-rows")
    assert code == 0
    (published,) = tmp_path.glob("*/*")
    archive = bundle(published, tmp_path / "a.zip", date=DAY)
    assert called("log", "verify", str(archive))[0] == 0


def test_a_day_that_is_none_is_refused(folder, tmp_path):
    with pytest.raises(SimnetError, match="a day is written as 2026-01-31"):
        bundle(folder, tmp_path / "a.zip", date="yesterday", public_rows=True)


def test_the_files_that_a_run_read_are_taken_along_and_run_again_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "links.csv").write_text("source,target\n0,1\n1,2\n2,3\n3,0\n")
    folder = run(world(rounds=2, topology={"kind": "file", "file": "links.csv"}), tmp_path / "runs").folder
    assert folder is not None
    with_files = bundle(folder, tmp_path / "with.zip", date=DAY, public_rows=True, inputs=True)
    without = bundle(folder, tmp_path / "without.zip", date=DAY, public_rows=True)
    assert contents(with_files)["links.csv"] == b"source,target\n0,1\n1,2\n2,3\n3,0\n"
    listed = [entry for entry in json.loads(contents(without)[METADATA])["@graph"] if entry.get("name") == "links.csv"]
    assert listed[0]["sha256"] == sha256(b"source,target\n0,1\n1,2\n2,3\n3,0\n").hexdigest()
    monkeypatch.chdir(tmp_path / "there")
    assert called("log", "verify", "--rerun", str(with_files))[0] == 0
    assert "there is no file links.csv" in called("log", "verify", "--rerun", str(without))[2]


def test_files_that_overlap_are_refused(archive, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as opened:
        opened.writestr("zeros", bytes(100_000))
        entry = opened.infolist()[0]
        for number in range(50):
            twin = zipfile.ZipInfo(f"zeros{number}")
            for field in ("header_offset", "file_size", "compress_size", "CRC"):
                setattr(twin, field, getattr(entry, field))
            opened.filelist.append(twin)
    code, _, refusal = called("log", "verify", str(tmp_path / "a.zip"))
    assert (code, "overlap" in refusal) == (2, True)


def test_a_name_that_an_archive_hides_from_its_list_is_cut_in_the_sentence(archive, tmp_path):
    """zipfile ends a name at its first zero; what it says of the entry's own name is all of it."""
    raw = rewritten(archive, tmp_path / "a.zip", {"x" * 60_000: b"!"})
    told = Path(raw).read_bytes()
    end = told.rfind(b"x" * 60_000)
    Path(raw).write_bytes(told[: end + 5] + b"\0" + told[end + 6 :])
    code, _, refusal = called("log", "verify", raw)
    assert (code, len(refusal) < 700) == (2, True)


def test_a_list_that_names_much_is_told_in_short(archive, tmp_path):
    crate = json.loads(contents(archive)[METADATA])
    crate["@graph"] += [{"@type": "File", "@id": f"{number}{'x' * 10_000}"} for number in range(100)]
    changed = rewritten(archive, tmp_path / "a.zip", {METADATA: json.dumps(crate).encode()})
    code, out, _ = called("log", "verify", changed)
    assert (code, len(out) < 5_000, "is listed and not there" in out) == (1, True, True)


def test_a_file_is_no_folder(archive, tmp_path):
    code, _, refusal = called("log", "verify", rewritten(archive, tmp_path / "a.zip", {"x": b"!", "X/y": b"!"}))
    assert (code, "X/y lies in a file, not in a folder" in refusal) == (2, True)


def test_a_system_without_room_for_temporary_files_is_a_sentence(archive, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    for words in (
        ("log", "verify", str(archive)),
        ("log", "verify", "--rerun", str(folder)),
        ("bundle", str(folder), "--public-rows", "--out", str(tmp_path / "a.zip")),
    ):
        code, _, refusal = called(*words)
        assert (code, refusal.startswith("TMPDIR: ")) == (2, True)
    assert [*tmp_path.iterdir()] == []


def test_no_file_that_a_stranger_names_fills_the_memory(tmp_path, monkeypatch):
    """A file of zeros takes no room on a disk; whoever forges a log knows its hash."""
    monkeypatch.chdir(tmp_path)
    Path("links.csv").write_text("source,target\n0,1\n1,2\n2,3\n3,0\n" + "\n" * 40_000_000)
    monkeypatch.setenv("SIMNET_MEMORY", "1000")
    folder = run(world(rounds=2, topology={"kind": "file", "file": "links.csv"}), tmp_path / "runs").folder
    monkeypatch.delenv("SIMNET_MEMORY")
    code, _, refusal = called("bundle", str(folder), "--public-rows", "--inputs", "--out", "a.zip")
    assert (code, "links.csv: a file of more than" in refusal) == (2, True)
    assert not Path("a.zip").exists()


def test_an_archive_that_is_encrypted_is_a_sentence(archive, tmp_path):
    """The first bit of an entry's flags says so, in the entry and in the directory at the end."""
    raw = bytearray(archive.read_bytes())
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(sign) + place] |= 1
    (tmp_path / "a.zip").write_bytes(raw)
    code, _, refusal = called("log", "verify", str(tmp_path / "a.zip"))
    assert (code, refusal.count("\n") <= 1, "a.zip" in refusal) == (2, True, True), refusal
