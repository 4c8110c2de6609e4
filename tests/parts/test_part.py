"""Parts and their tables: one class per word, and everything else read off them."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from simnet.parts.fields import FileName, Name
from simnet.parts.part import OneOf, Part, Section, WordOf, table, tag_of
from simnet.scenario.schema import place


class Shape(Part):
    """What all shapes have in common."""


class Square(Shape):
    """Four equal sides."""

    kind: Literal["square"]
    side: float = Field(1.0, description="length of a side")


class Circle(Shape):
    """All points at one distance."""

    kind: Literal["circle"]
    radius: float = Field(description="the distance")


SHAPES = table(Square, Circle)
COLOURS = {"red": 1, "green": 2}


class Drawing(Section):
    """A shape and its colour."""

    shape: Annotated[Shape, OneOf(SHAPES, lambda value: {"kind": value} if isinstance(value, str) else value)]
    colour: Annotated[str, WordOf(COLOURS)] = "red"


def test_a_table_lists_parts_by_their_words():
    assert {"square": Square, "circle": Circle} == SHAPES
    assert tag_of(Square) == ("kind", "square")
    assert tag_of(Drawing) is None
    assert Circle(kind="circle", radius=1.0).word == "circle"


def test_a_table_refuses_two_parts_of_one_name_and_what_has_no_name():
    with pytest.raises(TypeError, match="both called 'square'"):
        table(Square, Square)
    with pytest.raises(TypeError, match="Drawing has no field"):
        table(Drawing)


def test_a_field_holds_the_part_that_its_word_chooses():
    drawing = Drawing.model_validate({"shape": {"kind": "circle", "radius": 2}})
    assert drawing.shape == Circle(kind="circle", radius=2.0)
    assert drawing.model_dump(exclude_unset=True) == {"shape": {"kind": "circle", "radius": 2.0}}


def test_a_shorthand_stands_for_a_part():
    assert Drawing.model_validate({"shape": "square"}).shape == Square(kind="square")


def test_an_unknown_word_or_field_is_refused_where_it_stands():
    for content, at in (
        ({"shape": {"kind": "line"}}, ("shape",)),
        ({"shape": {"kind": "circle", "side": 1}}, ("shape", "circle", "radius")),
        ({"shape": "square", "colour": "blue"}, ("colour",)),
    ):
        with pytest.raises(ValidationError) as refused:
            Drawing.model_validate(content)
        assert refused.value.errors()[0]["loc"] == at


def test_what_may_stand_at_a_place_is_read_off_the_table():
    shape, colour = (place(Drawing.model_fields[name]) for name in ("shape", "colour"))
    assert shape.kinds == SHAPES
    assert shape.spelled_out("square") == {"kind": "square"}
    assert colour.choices == ("red", "green")


def test_a_section_lists_the_files_that_it_and_its_parts_name():
    class Sheet(Section):
        picture: FileName
        title: Name
        drawings: tuple[Drawing, ...] = ()

    class Album(Section):
        cover: Sheet
        sheets: tuple[Sheet, ...]

    sheet = Sheet(picture="a.png", title="no file", drawings=(Drawing(shape="square"),))
    assert [*Album(cover=sheet, sheets=(sheet, Sheet(picture="b.png", title="b"))).files()] == [
        "a.png",
        "a.png",
        "b.png",
    ]
    assert [*Drawing(shape="square").files()] == []


def test_a_table_of_one_part_needs_its_word_all_the_same():
    class Only(Section):
        shape: Annotated[Shape, OneOf(table(Square))]

    with pytest.raises(ValidationError):
        Only.model_validate({"shape": {"side": 2}})
