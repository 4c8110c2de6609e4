"""The type of everything that is computed with: an array of float64."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]
