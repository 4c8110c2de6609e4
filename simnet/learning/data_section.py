"""[data]: what is learned from, and how it is dealt to the agents."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from simnet.learning.dealing import PARTITIONS
from simnet.learning.sources import FILE, SOURCES, RowSource
from simnet.parts.fields import Column, Count, Label, Name, NonNegative, Number, Positive, Switch, Whole
from simnet.parts.part import Section, WordOf

_TRAIN = Number("a number of rows of at least 1, or a share below 1", 0, 2**53, open_low=True)


def _train(value: Any) -> int | float:
    number = _TRAIN(value)
    if number < 1:
        return number
    if number != int(number):
        raise ValueError(_TRAIN.what)
    return int(number)


_train.what = _TRAIN.what  # type: ignore[attr-defined]


class Data(Section):
    """What is learned from, and how it is dealt to the agents."""

    source: Name = Field(
        "adult",
        description="`adult` (inside the package), `synthetic`, `twonorm`, `ringnorm`, `waveform` (generated), a name "
        "found in `SIMNET_DATA` (`a9a`, `a8a`, `ijcnn1`, …), or a file: LIBSVM, CSV, NPZ, MAT",
    )
    train: Annotated[int | float, BeforeValidator(_train)] = Field(
        0.8, description="training rows: a number, or a share of all rows; the rest is the test set"
    )
    partition: Annotated[str, WordOf(PARTITIONS)] = Field(
        "even", description="`even` sizes, `uneven` sizes (Dirichlet), or `skewed` labels (Dirichlet)"
    )
    concentration: Positive = Field(
        1.0, description="Dirichlet parameter of `uneven` and `skewed`; small is very unequal"
    )
    rows: Count | None = Field(None, description="generated sources: rows to make (default 5,000)")
    features: Count | None = Field(None, description="`synthetic`: features per row (default 20)")
    label_noise: NonNegative | None = Field(
        None, description="`synthetic`: standard deviation of the noise inside the label's sign (default 0.1)"
    )
    seed: Whole | None = Field(
        None,
        description="seed of the generated rows and of the train/test split; default: the scenario's seed",
    )
    label: Column | None = Field(None, description="CSV: the label's column, by name or by index (default: last)")
    positive: Label | None = Field(None, description="the label that counts as +1 (default: the larger)")
    bias: Switch = Field(False, description="append a constant feature before rows are scaled")

    @model_validator(mode="after")
    def _fields_fit_the_source(self) -> Data:
        for field in ("rows", "features", "label_noise"):
            takers = [word for word, source in SOURCES.items() if field in source.fields]
            if getattr(self, field) is not None and self.source not in takers:
                raise ValueError(f"{field}: only the source {' or '.join(takers)} has it")
        return self

    @property
    def origin(self) -> RowSource:
        """Where the rows come from."""
        return SOURCES.get(self.source, FILE)
