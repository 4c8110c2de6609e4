"""What a run was computed with: versions and arithmetic, and nothing that names a machine, a user or a path."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from threadpoolctl import threadpool_info

_PACKAGES = ("numpy", "scipy", "simpy", "networkx", "structlog", "msgspec", "pydantic", "zstandard", "dp-accounting")


def environment(simnet: str) -> dict[str, Any]:
    """environment.json, for a run of that version of simnet."""
    return {
        "simnet": simnet,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "blas": _blas(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas() -> list[str]:
    """Every BLAS in use, for example `openblas 0.3.27 Haswell`: its kernels decide the last bits of a product."""
    found = (library for library in threadpool_info() if library["user_api"] == "blas")
    names = (
        " ".join(str(library.get(key) or "") for key in ("internal_api", "version", "architecture"))
        for library in found
    )
    return sorted({name.strip() for name in names})
