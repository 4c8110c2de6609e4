"""The types of what is computed with: arrays of float64."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]
Parts: TypeAlias = tuple[Vector, ...]
"""What a message carries: a model, and perhaps more vectors."""
Square: TypeAlias = npt.NDArray[np.float64]
"""A square matrix."""
