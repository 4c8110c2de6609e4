"""What a record may be given away for, and what ε does not cover in it: the sentences of a log's first line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

NO_NOISE = "protects nobody: no noise is added"
FROM_SEED = "not for publication with private data: the noise is drawn from the seed, and can be taken off again"
FROM_SECRET = "for its owner: it holds figures that no noise protects; `simnet publish` makes a record without them"
PUBLISHED = "fit for publication: of the rows it holds only what was released with noise and paid for"
OF_PUBLIC_ROWS = "fit for publication only because its rows are public: nothing here protects them"

TIMES_TELL = "when messages leave depends on the data, and ε does not cover time (network.pacing.send_at fixes it)"
LABELS_DEAL = (
    "the labels decided which agent holds which rows, so one label moves other rows; ε covers a row that is replaced "
    "where it lies, and not that"
)

ROWS_DEAL = (
    "what rows hold decided which agent holds which of them, so one row may move others; ε covers a row that is "
    "replaced where it lies, and not that"
)
DEALT_BY = {"nothing": [], "labels": [LABELS_DEAL], "rows": [ROWS_DEAL]}

PEAKS_SCALE = (
    "columns are divided by their largest values, so a row that holds one changes all others; scale the data by public "
    "bounds and say data.scale = 'rows'"
)
LONG_ROWS = (
    "rows may be longer than 1 (data.scale), so no ε covers what is computed from their features; what is promised is "
    "for the labels alone"
)
FEATURES_TELL = (
    "features are made of the categories and blanks that rows hold, so a row that alone holds one decides that there "
    "is a feature (data.categories names public categories)"
)
BLANKS_TELL = "rows with a blank are left out, so which rows have one counts as public (data.missing)"
MEANS_FILL = "blanks are filled with the mean of their column, so each row changes others (data.missing)"
UNLABELLED_TELL = "rows without a label are left out, so which rows have one counts as public (data.unlabelled)"
PREPARED_BY = {
    "peaks": PEAKS_SCALE,
    "features": FEATURES_TELL,
    "blanks": BLANKS_TELL,
    "means": MEANS_FILL,
    "unlabelled": UNLABELLED_TELL,
}


def uncovered(accounts: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the proven ε of some runs does not cover, by what their summaries say of privacy."""
    known = (each.get("caveats", ()) for each in accounts if each["proven_epsilon"] is not None)
    return [*dict.fromkeys(caveat for caveats in known for caveat in caveats)]
