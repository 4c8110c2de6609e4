"""Where rows come from: one table of all that `source` in [data] can name, and what differs between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simnet.errors import DataError, ScenarioError
from simnet.learning import data_files
from simnet.learning.adult import adult
from simnet.learning.dataset import Dataset
from simnet.learning.generators import ringnorm, synthetic, twonorm, waveform

if TYPE_CHECKING:
    from simnet.learning.data_section import Data

Find = Callable[[str], Path]
"""Finds a file that a scenario names."""
Rows = tuple[Dataset, Dataset | None]
"""All rows; and the test rows where they come from a file of their own."""

_ROWS, _FEATURES, _LABEL_NOISE = 5000, 20, 0.1


def _from_package(data: Data, find: Find, rng: np.random.Generator) -> Rows:
    return adult(), None


def _synthetic(data: Data, find: Find, rng: np.random.Generator) -> Rows:
    noise = _LABEL_NOISE if data.label_noise is None else data.label_noise
    return synthetic(data.rows or _ROWS, data.features or _FEATURES, noise, rng), None


def _generated(draw: Callable[[int, np.random.Generator], Dataset]) -> Source:
    return Source("generated", lambda data, find, rng: (draw(data.rows or _ROWS, rng), None), ("rows",))


def _from_file(data: Data, find: Find, rng: np.random.Generator) -> Rows:
    path, *beside = _files(data, find)
    try:
        whole = data_files.read(path, label=data.label, positive=data.positive)
        if not beside:
            return whole, None
        return whole, data_files.read(beside[0], label=data.label, positive=data.positive, features=whole.features)
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source!r}: {error}") from None


def _files(data: Data, find: Find) -> list[Path]:
    """The file of a well-known name or at a path, and the test file beside it if there is one."""
    try:
        path = data_files.named(data.source) or data_files.locate(str(find(data.source)))
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source!r}: {error}") from None
    beside = data_files.test_file(path)
    return [path] if beside is None else [path, beside]


def _no_files(data: Data, find: Find) -> list[Path]:
    return []


@dataclass(frozen=True)
class Source:
    """One source of rows."""

    line: str
    """What `simnet list` says of it."""
    read: Callable[[Data, Find, np.random.Generator], Rows]
    fields: tuple[str, ...] = ()
    """The fields of [data] that it takes and that not every source takes."""
    files: Callable[[Data, Find], list[Path]] = _no_files
    """The files that it reads."""


SOURCES = {
    "adult": Source("inside the package", _from_package),
    "synthetic": Source("generated", _synthetic, ("rows", "features", "label_noise")),
    "twonorm": _generated(twonorm),
    "ringnorm": _generated(ringnorm),
    "waveform": _generated(waveform),
    **dict.fromkeys(
        ("a9a", "a8a", "ijcnn1", "banana", "german", "image", "splice"),
        Source("found in SIMNET_DATA", _from_file, files=_files),
    ),
}
FILE = Source("LIBSVM, CSV, NPZ or MAT", _from_file, files=_files)
"""What every other name is."""
