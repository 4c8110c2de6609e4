"""Optical Recognition of Handwritten Digits (Alpaydin & Kaynak 1998): which digit is it?

The package ships the 1,797 images of the UCI test part as one small file: an xz stream of the 64 pixels of each image,
then of all digits, a byte each. `analysis/make_digits.py` builds it. The data are under CC BY 4.0: see
data/LICENSE-digits.txt.
"""

from __future__ import annotations

import lzma
from importlib import resources

import numpy as np

from simnet.learning.dataset import Dataset

PIXELS = 64


def digits() -> Dataset:
    """1,797 rows × 64 pixels from 0 to 16, and the digits 0 to 9 as classes."""
    packed = (resources.files("simnet.learning") / "data" / "digits.xz").read_bytes()
    data = np.frombuffer(lzma.decompress(packed), "u1").astype(np.float64)
    rows = len(data) // (PIXELS + 1)
    return Dataset("digits", data[: rows * PIXELS].reshape(rows, PIXELS), data[rows * PIXELS :], "class")
