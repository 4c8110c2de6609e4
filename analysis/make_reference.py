"""Write docs/python.md: the public names of `simnet` and `simnet.extend`, in the words of their docstrings.

python -m analysis.make_reference
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import simnet
import simnet.extend

PAGE = Path(__file__).parents[1] / "docs" / "python.md"

WIDTH = 90
HEAD = """# Python reference

<!-- Generated from the docstrings: python -m analysis.make_reference -->

Two modules are public: `simnet` runs scenarios and studies, and `simnet.extend` is what parts of your own are made of.
Everything else may change from version to version. [Data of your own](data.md#from-python) and
[the public module](extend.md) have running examples; the fields of a scenario are in
[the scenario reference](scenario.md).
"""

FIELDS = """### Types of fields, and other short names

`{names}`: [the public module](extend.md) says what each is.
"""


def page() -> str:
    """The whole of docs/python.md."""
    names = [name for name in simnet.__all__ if name != "__version__"]
    first = "\n".join(entry(simnet, name) for name in sorted(names, key=lambda name: (_rank(simnet, name), name)))
    told = [name for name in simnet.extend.__all__ if _explains_itself(getattr(simnet.extend, name))]
    short = [name for name in simnet.extend.__all__ if name not in told]
    second = "\n".join(
        entry(simnet.extend, name) for name in sorted(told, key=lambda name: (_rank(simnet.extend, name), name))
    )
    return "\n".join(
        [HEAD, "## simnet\n", first, "## simnet.extend\n", second, FIELDS.format(names="`, `".join(short))]
    )


def entry(module: types.ModuleType, name: str) -> str:
    """One public name: how it is called, what its docstring says, and its members."""
    found = getattr(module, name)
    lines = [f"### {name}\n"]
    if inspect.isfunction(found):
        lines.append(f"```python\n{name}{_signature(found, one_per_line=True)}\n```\n")
    lines.append(markdown(inspect.getdoc(found) or ""))
    if inspect.isclass(found):
        lines += _attributes(found)
        members = [_member(title, member) for title, member in _members(found)]
        lines += ["To call and to read:\n", *members] if members else []
    return "\n".join(lines) + "\n"


def markdown(docstring: str) -> str:
    """A docstring as Markdown: arguments become a list, examples and aligned lines become code."""
    blocks = []
    for block in docstring.split("\n\n"):
        first, *rest = block.split("\n")
        if first in ("Args:", "Raises:", "Returns:") and rest:
            items = re.split(r"\n(?=\S)", inspect.cleandoc("\n".join(rest)))
            blocks.append("\n".join("- " + re.sub(r"\s+", " ", re.sub(r"^(\w+):", r"`\1`:", item)) for item in items))
        elif first.startswith(">>>"):
            blocks.append(f"```python\n{block}\n```")
        elif any(line.startswith("    ") or re.search(r"\S  +\S", line) for line in [first, *rest]):
            blocks.append(f"```text\n{block}\n```")
        else:
            blocks.append(block)
    return "\n\n".join(blocks) + "\n"


def _rank(module: types.ModuleType, name: str) -> int:
    """Functions of `simnet` first, then classes, then errors; in `simnet.extend` classes before functions."""
    found = getattr(module, name)
    if module is simnet:
        return 0 if inspect.isfunction(found) else 2 if issubclass(found, Exception | Warning) else 1
    return 1 if inspect.isfunction(found) else 0


def _explains_itself(found: Any) -> bool:
    """Whether it is a class or a function of ours, and no alias of a type and no constant."""
    return (inspect.isclass(found) or inspect.isfunction(found)) and found.__module__.startswith("simnet")


class _Written:
    """An annotation, as it is written."""

    def __init__(self, text: object) -> None:
        self.text = text

    def __repr__(self) -> str:
        return str(self.text).replace('"', "")


def _signature(found: Any, one_per_line: bool = False) -> str:
    """Parameters and result of a function, without `self`; long ones are broken where that is asked for."""
    signature = inspect.signature(found)
    parameters = [
        each if each.annotation is each.empty else each.replace(annotation=_Written(each.annotation))
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    result = signature.return_annotation
    written = result if result is signature.empty else _Written(result)
    whole = str(signature.replace(parameters=parameters, return_annotation=written))
    if not one_per_line or len(whole) < WIDTH:
        return whole
    each = [str(inspect.Signature([parameter]))[1:-1] for parameter in parameters]
    first = next((n for n, parameter in enumerate(parameters) if parameter.kind is parameter.KEYWORD_ONLY), None)
    if first is not None:
        each = [*each[:first], "*", *(text.removeprefix("*, ") for text in each[first:])]
    return "(\n    " + ",\n    ".join(each) + f",\n) -> {written!r}"


def _attributes(found: type) -> list[str]:
    """The fields that a class states itself."""
    described = getattr(found, "model_fields", {})
    names = [
        name
        for name, kind in vars(found).get("__annotations__", {}).items()
        if not name.startswith("_") and "ClassVar" not in str(kind) and found is not simnet.Scenario
    ]
    if not names:
        return []
    kinds = vars(found)["__annotations__"]
    lines = [
        f"- `{name}: {kinds[name]}`"
        + (f": {described[name].description}" if name in described and described[name].description else "")
        for name in names
    ]
    return ["Fields:\n", *lines, ""]


def _members(found: type) -> Iterator[tuple[str, Any]]:
    """What a class has to call or to read, in the order in which it is written."""
    for name, member in vars(found).items():
        if name.startswith(("_", "model_")):
            continue
        if isinstance(member, property | cached_property):
            yield name, member.fget if isinstance(member, property) else member.func
        elif isinstance(member, classmethod | staticmethod):
            yield f"{name}{_signature(getattr(found, name))}", member.__func__
        elif inspect.isfunction(member):
            yield f"{name}{_signature(member)}", member


def _member(title: str, member: Any) -> str:
    told = re.sub(r"\s+", " ", (inspect.getdoc(member) or "").split("\n\n")[0])
    return f"- `{title}`" + (f": {told}" if told else "")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
