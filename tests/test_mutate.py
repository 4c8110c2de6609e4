"""Mistakes that `make mutate` makes: one at a time, in code that does something, and all of them still Python."""

from __future__ import annotations

import ast

from tests.mutate import ROOMS, ROOT, explained, mutants, sample

SOURCE = '''"""Text of 1 line."""
LIMIT: Literal[3] = 4
def half(x: int) -> float | None:
    if x is None or x < 0:
        return None
    x += 1  # η
    return f"{x + 1}" if x > LIMIT else (x + 2) * 3
'''


def test_every_kind_of_mistake_is_made_once_and_none_in_types_or_texts(tmp_path):
    path = tmp_path / "half.py"
    path.write_text(SOURCE)
    found = mutants(path, tmp_path)
    assert [each.line for each in found if each.line < 4] == [2]
    after = {each.diff(SOURCE.encode())[1] for each in found}
    whole = 'return f"{x + 1}" if x > LIMIT else (x + 2) * 3'
    assert after == {
        "LIMIT: Literal[3] = 5",
        "if (not (x is None or x < 0)):",
        "if (x is None and x < 0):",
        "if x is not None or x < 0:",
        "if x is None or x <= 0:",
        "if x is None or x < 1:",
        "x -= 1 # η",
        "x += 2 # η",
        "return None",
        whole.replace("x > LIMIT", "(not (x > LIMIT))"),
        whole.replace("x > LIMIT", "x >= LIMIT"),
        whole.replace("(x + 2) * 3", "((x + 2) / 3)"),
        whole.replace("(x + 2)", "((x - 2))"),
        whole.replace("2", "3"),
        whole.replace("* 3", "* 4"),
    }


def test_mistakes_of_the_heart_are_python_and_the_same_every_time():
    for room in ROOMS:
        tried = sample(room, 25, seed=2)
        assert tried == sample(room, 25, seed=2) != sample(room, 25, seed=3)
        for mutant in tried:
            source = (ROOT / mutant.file).read_bytes()
            assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))


def test_every_mistake_that_is_explained_can_still_be_made():
    for file, before, after in explained():
        source = (ROOT / file).read_bytes()
        assert (before, after) in {mutant.diff(source) for mutant in mutants(ROOT / file)}


def test_what_only_types_see_and_no_for_no_are_no_mistakes(tmp_path):
    path = tmp_path / "types.py"
    path.write_text("if TYPE_CHECKING:\n    import x\ndef no():\n    return False\n")
    assert [each.new for each in mutants(path, tmp_path)] == ["return True"]
