"""Would the tests notice? Small mistakes, put into the heart one at a time; the tests of the same room should fail.

    python -m tests.mutate                          20 mistakes in each room
    python -m tests.mutate --sample 8 --seed 3 --room network

The same seed gives the same mistakes as long as the code stays. Tests run in a copy of the tree, each time until the
first one fails, and those of the same module come first. Tests that fail without any mistake are named and left out.
A mistake that changes nothing that anybody could notice stands in tests/mutants.toml with the reason; it counts
neither for nor against. The exit code is 1 if less than 85 % of the others are noticed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
ROOMS = ("agent", "network", "privacy", "record", "sim")
GOAL = 0.85
LEFT_BEHIND = shutil.ignore_patterns(".*", "results", "runs", "build", "dist", "__pycache__")
SWAPS: dict[type[ast.AST], type[ast.AST]] = {ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult}
for one, other in (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.And, ast.Or),
):
    SWAPS |= {one: other, other: one}


@dataclass(frozen=True)
class Mutant:
    """A file with one mistake: bytes from `start` to `end` are others."""

    file: str
    line: int
    start: int
    end: int
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    def diff(self, source: bytes) -> tuple[str, str]:
        """The line where the mistake begins, before and after."""
        head = source.rfind(b"\n", 0, self.start) + 1
        tail = (source + b"\n").find(b"\n", self.end)
        after = source[head : self.start] + self.new.encode() + source[self.end : tail]
        return " ".join(source[head:tail].decode().split()), " ".join(after.decode().split())


def changed(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What stands for a node, or for a part of it, in each of its mistakes."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            mistaken = copy.deepcopy(node)
            mistaken.ops[place] = SWAPS[type(operator)]()  # type: ignore[call-overload]
            yield node, ast.unparse(mistaken)
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        mistaken = copy.deepcopy(node)
        mistaken.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        text = ast.unparse(mistaken)
        yield node, text if isinstance(node, ast.AugAssign) else f"({text})"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield node, repr(node.value + 1)
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and ast.unparse(node.test) != "TYPE_CHECKING":
        yield node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        # To answer nothing in place of "no" is no mistake, to answer "yes" is one.
        yield node, "return True" if ast.unparse(node.value) == "False" else "return None"


def within(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that do something: no types, no decorators, nothing inside a text."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child
                yield from within(child)


def mutants(path: Path, root: Path = ROOT) -> list[Mutant]:
    """All mistakes that are made in a file, in order."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in within(ast.parse(source)):
        for part, new in changed(node):
            first, last = starts[part.lineno - 1], starts[part.end_lineno - 1]  # type: ignore[attr-defined]
            span = first + part.col_offset, last + part.end_col_offset  # type: ignore[attr-defined]
            found.append(Mutant(str(path.relative_to(root)), part.lineno, *span, new))  # type: ignore[attr-defined]
    return found


def sample(room: str, size: int, seed: int) -> list[Mutant]:
    """So many mistakes of a room, by chance and the same every time."""
    everything = [each for path in sorted((ROOT / "simnet" / room).glob("*.py")) for each in mutants(path)]
    return Random(f"{seed} {room}").sample(everything, min(size, len(everything)))


def explained() -> dict[tuple[str, str, str], str]:
    """Why nobody can notice these: by file, line before and line after."""
    listed = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text()).get("mutant", [])
    return {(each["file"], each["before"], each["after"]): each["reason"] for each in listed}


class Tests:
    """The tests of a room, in a copy of the tree."""

    def __init__(self, tree: Path, room: str) -> None:
        self._tree, self._room, self._limit = tree, room, 3600.0
        self.failing: list[str] = []
        began = time.monotonic()
        cache = tree / f".cache-{room}"
        passed = self._passed("-o", f"cache_dir={cache}", f"tests/{room}")
        self._limit = 60.0 + 4 * (time.monotonic() - began)
        failed = cache / "v" / "cache" / "lastfailed"
        if failed.exists():
            self.failing = sorted(json.loads(failed.read_text()))
        if not (passed or self._others_pass()):
            sys.exit(f"tests/{room} fails without any mistake, and not in the same tests every time")

    def _others_pass(self, *first: str) -> bool:
        """Whether all tests pass but those that fail anyway."""
        left_out = [f"--deselect={each}" for each in self.failing]
        return self._passed("-x", "-p", "no:cacheprovider", *left_out, *first, f"tests/{self._room}")

    def notice(self, mutant: Mutant) -> bool:
        """Whether a test fails, or lasts too long, with this mistake."""
        path = self._tree / mutant.file
        source = path.read_bytes()
        own = f"tests/{self._room}/test_{path.name}"
        path.write_bytes(mutant.applied(source))
        try:
            return not self._others_pass(*([own] if (self._tree / own).exists() else []))
        finally:
            path.write_bytes(source)

    def _passed(self, *arguments: str) -> bool:
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", *arguments]
        here = os.environ | {"PYTHONPATH": str(self._tree), "PYTHONDONTWRITEBYTECODE": ""}
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            command, cwd=self._tree, env=here, stdout=quiet, stderr=quiet, start_new_session=True
        ) as tests:
            try:
                return tests.wait(self._limit) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                if tests.poll() is None:
                    os.killpg(tests.pid, signal.SIGKILL)


def try_room(room: str, tried: list[Mutant], tree: Path) -> Counter[str]:
    """Try these mistakes and print what became of each."""
    tests, known, fates = Tests(tree, room), explained(), Counter[str]()
    for name in tests.failing:
        print(f"left out, it fails without any mistake: {name}", flush=True)
    for mutant in tried:
        before, after = mutant.diff((ROOT / mutant.file).read_bytes())
        reason = known.get((mutant.file, before, after))
        fate = "explained" if reason else "killed" if tests.notice(mutant) else "survived"
        fates[fate] += 1
        print(f"{fate:9}  {mutant.file}:{mutant.line}\n    - {before}\n    + {after}", flush=True)
        if reason:
            print(f"    {reason}", flush=True)
    return fates


def main() -> int:
    parser = argparse.ArgumentParser(description="Put mistakes into the heart and see whether its tests notice.")
    parser.add_argument("--sample", type=int, default=20, help="mistakes per room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", choices=ROOMS, action="append", help="may be given again; default: all")
    asked = parser.parse_args()
    rooms: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_BEHIND)
        for room in asked.room or ROOMS:
            rooms[room] = try_room(room, sample(room, asked.sample, asked.seed), tree)
    total = sum(rooms.values(), Counter[str]())
    for name, fates in [*rooms.items(), ("all", total)]:
        print(f"{name:8} {fates['killed']} killed, {fates['survived']} survived, {fates['explained']} explained")
    counted = total["killed"] + total["survived"]
    return int(total["killed"] < GOAL * counted)


if __name__ == "__main__":
    sys.exit(main())
