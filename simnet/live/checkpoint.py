"""A checkpoint: the objects that an agent's rounds to come depend on, as bytes, and back.

What does not change while an agent runs (its data, functions of the scenario) is built anew from the scenario at every
start. The rest is pickled: model, dual, last known values, what the solver has learned, the states of the random
generators, the threshold of a sparse vector test that was drawn once and must never be drawn again. It is put into the
newly built objects, so that the restored agent is the one that was saved, bit by bit.

Reading makes objects of the rooms that compute and of the modules whose parts the scenario names, and arrays, and
nothing else: a checkpoint that was tampered with cannot run a program that the scenario does not run anyway.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from hashlib import sha256
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType
from typing import Any

from simnet.errors import LiveError

Fixed = Mapping[str, object]
"""Objects that are the same in every run of the scenario, by name: a checkpoint only names them."""

Modules = frozenset[str]
"""The modules of the parts that a scenario brings."""

_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, MethodWrapperType)
_LIBRARIES = {
    "builtins": {"set", "frozenset", "bytearray"},
    "collections": {"deque", "Counter", "OrderedDict"},
    "_codecs": {"encode"},
    "numpy": {"ndarray", "dtype"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.random._pickle": {"__generator_ctor", "__bit_generator_ctor"},
    "numpy.random._philox": {"Philox"},
    "scipy.sparse._csr": {"csr_array", "csr_matrix"},
}
"""What a checkpoint may be made of besides the classes of simnet."""
_ROOMS = (
    *(f"simnet.{room}" for room in ("agent.", "library.", "methods.", "learning.", "network.", "privacy.", "streams")),
    "simnet.privacy.secret_noise",
)
"""Where these classes are: rooms in which nothing opens a file, a socket or a process."""


def save(objects: Mapping[str, object], fixed: Fixed, modules: Modules = frozenset()) -> bytes:
    """The state of these objects."""
    out = io.BytesIO()
    _Pickler(out, fixed, modules).dump(dict(objects))
    body = out.getvalue()
    return sha256(body).digest() + body


def restore(data: bytes, objects: Mapping[str, object], fixed: Fixed, modules: Modules = frozenset()) -> dict[str, Any]:
    """The objects that were saved; those given here are brought to the saved state and stay the same objects."""
    body = data[32:]
    if sha256(body).digest() != data[:32]:
        raise LiveError("the checkpoint is damaged: its checksum does not match")
    try:
        saved = _Unpickler(io.BytesIO(body), fixed, modules).load()
    except (pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, KeyError, TypeError) as error:
        raise LiveError(f"the checkpoint cannot be read by this version of simnet ({error})") from None
    if not isinstance(saved, dict):
        raise LiveError("the checkpoint cannot be read by this version of simnet (it holds no table of objects)")
    return {name: _graft(objects[name], value, modules) if name in objects else value for name, value in saved.items()}


class _Pickler(pickle.Pickler):
    def __init__(self, out: io.BytesIO, fixed: Fixed, modules: Modules) -> None:
        super().__init__(out, protocol=5)
        self._names = {id(thing): name for name, thing in fixed.items()}
        self._modules = modules

    def persistent_id(self, obj: object) -> str | None:
        return self._names.get(id(obj))

    def reducer_override(self, obj: object) -> Any:
        """Objects of simnet without the functions among their attributes, which the scenario gives anew.

        What says of what it was `made_of` is made anew of that.
        """
        if isinstance(obj, type) or not _ours(type(obj), self._modules) or not hasattr(obj, "__dict__"):
            return NotImplemented
        if made_of := getattr(obj, "made_of", ()):
            return type(obj), made_of
        state = {name: value for name, value in vars(obj).items() if not isinstance(value, _FUNCTIONS)}
        return _blank, (type(obj),), state, None, None, _furnish


class _Unpickler(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, fixed: Fixed, modules: Modules) -> None:
        super().__init__(source)
        self._fixed = fixed
        self._modules = modules

    def persistent_load(self, pid: str) -> object:
        return self._fixed[pid]

    def find_class(self, module: str, name: str) -> Any:
        if name in _LIBRARIES.get(module, ()):
            return super().find_class(module, name)
        if module == __name__ and name in ("_blank", "_furnish"):
            return globals()[name]
        # A dotted name would reach through a module to whatever it imports, and so might a plain one.
        if (module.startswith(_ROOMS) or module in self._modules) and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and (found.__module__.startswith(_ROOMS) or found.__module__ in self._modules):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a checkpoint")


def _blank(kind: type[Any]) -> Any:
    return object.__new__(kind)


def _furnish(thing: Any, state: dict[str, Any]) -> None:
    vars(thing).update(state)


def _ours(kind: type[Any], modules: Modules) -> bool:
    return kind.__module__.startswith("simnet.") or kind.__module__ in modules


def _graft(fresh: Any, saved: Any, modules: Modules) -> Any:
    """Give `fresh` the attributes of `saved`; functions, which were not saved, are those of `fresh`."""
    if fresh is saved or type(fresh) is not type(saved) or not hasattr(saved, "__dict__"):
        return saved
    if not _ours(type(saved), modules):
        return saved
    for name, value in vars(saved).items():
        vars(fresh)[name] = _graft(vars(fresh)[name], value, modules) if name in vars(fresh) else value
    return fresh
