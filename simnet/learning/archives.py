"""Arrays from NumPy archives and MATLAB files, looked at before they are read.

A header states sizes in a few bytes, and zeros are packed a thousand times smaller. So shapes are compared with the
memory before anything is allocated. Archives of other compression than NumPy's own, and MATLAB's nested cells and
structures, are refused: nothing bounds what reading them takes.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from simnet.allowance import Allowance
from simnet.errors import DataError

_COPIES = 3
"""How often an array is there while it is read: as bytes, as an array, as float64."""
_END, _LOCATOR = b"PK\x05\x06", b"PK\x06\x07"
_DIRECTORY = 1 << 20
"""The longest list of members that is read."""
_PLAIN_CLASSES = {"single", "double", "logical", "sparse", "char"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_COMPRESSED = 15
"""MATLAB's number of an element that is packed."""
_CHUNK = 1 << 16


def archived_arrays(path: Path, names: Sequence[str], allowance: Allowance) -> dict[str, Any]:
    """Those arrays of an .npz file that have one of these names."""
    check_directory(path)
    with zipfile.ZipFile(path) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        return {name: _array(archive, members[name], allowance) for name in names if name in members}


def check_directory(path: Path) -> None:
    """`zipfile` reads the list of members as a whole, however long it is."""
    with path.open("rb") as handle:
        size = handle.seek(0, 2)
        handle.seek(max(0, size - (1 << 16) - 42))
        end = handle.read()
    place = end.rfind(_END)
    if place < 0 or place + 16 > len(end):
        raise ValueError("it is no archive")
    (listed,) = struct.unpack_from("<L", end, place + 12)
    if listed > _DIRECTORY or (size < 1 << 31 and end[max(0, place - 20) : place].startswith(_LOCATOR)):
        raise ValueError("its list of members is too long")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, allowance: Allowance) -> Any:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is packed in a way that NumPy does not use")
    with archive.open(member) as handle:
        version = np.lib.format.read_magic(handle)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in header:
            raise ValueError(f"arrays of version {version} are not read")
        shape, _, dtype = header[version](handle)
    allowance.need(_COPIES * math.prod(shape) * max(dtype.itemsize, 8), f"an array of {_times(shape)}")
    with archive.open(member) as handle:
        return np.lib.format.read_array(handle, allow_pickle=False)


def matlab_arrays(path: Path, names: Sequence[str], allowance: Allowance) -> dict[str, Any]:
    """Those arrays of a MATLAB file that have one of these names."""
    from scipy.io import loadmat, whosmat  # takes a tenth of a second, which no other format need wait for
    from scipy.io.matlab import matfile_version

    allowance.need(_COPIES * path.stat().st_size, "such a file")
    if matfile_version(str(path), appendmat=False)[0] == 1:
        with path.open("rb") as handle:
            _check_packed(handle, allowance)
    found = {}
    for name, shape, kind in whosmat(path, appendmat=False):
        if name not in names:
            continue
        if kind not in _PLAIN_CLASSES:
            raise DataError(f"{path}: {name} is no matrix of numbers, but of the class {kind}")
        size = sum(shape) if kind == "sparse" else math.prod(shape)
        allowance.need(_COPIES * 8 * size, f"an array of {_times(shape)}")
        found[name] = shape
    return dict(loadmat(path, appendmat=False, variable_names=list(found))) if found else {}


def _check_packed(handle: BinaryIO, allowance: Allowance) -> None:
    """Unpack the elements of a file of version 5 once, piece by piece, only to see how much it is."""
    handle.seek(0)
    order = "<" if handle.read(128)[126:] == b"IM" else ">"
    total = 0
    while len(tag := handle.read(8)) == 8:
        kind, size = struct.unpack(f"{order}LL", tag)
        if kind != _COMPRESSED:
            handle.seek(size, 1)
            continue
        decoder = zlib.decompressobj()
        while size and (packed := handle.read(min(size, _CHUNK))):
            size -= len(packed)
            while packed and not decoder.eof:
                total += len(decoder.decompress(packed, _CHUNK))
                packed = decoder.unconsumed_tail
                allowance.need(_COPIES * total, "what it unpacks to")


def _times(shape: Sequence[int]) -> str:
    return " × ".join(f"{each:,}" for each in shape) or "one number"
