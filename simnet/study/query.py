"""SQL on stored studies: tables `runs` and `rounds`, with a column `study`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simnet.errors import SimnetError
from simnet.study.store import PLAN

if TYPE_CHECKING:
    import polars as pl


def query(sql: str, place: str | Path) -> pl.DataFrame:
    """Ask one study's folder, or a folder of studies."""
    import polars as pl

    from simnet.study.frames import stacked
    from simnet.study.results import StudyResult

    found = [StudyResult.load(folder) for folder in folders(Path(place))]
    wants_rounds = "rounds" in sql.lower()
    tables = {"runs": stacked(*(_named(each.runs, each.name) for each in found))}
    if wants_rounds:
        tables["rounds"] = stacked(*(_named(each.rounds, each.name) for each in found))
    try:
        with pl.SQLContext(tables, eager=True) as context:
            answer = context.execute(sql)
    except pl.exceptions.PolarsError as error:
        raise SimnetError(f"query: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(answer, pl.DataFrame):
        raise SimnetError("query: write a statement that answers with a table, such as select * from runs")
    return answer


def folders(place: Path) -> list[Path]:
    """The studies at a place: itself, or those inside."""
    if (place / PLAN).is_file():
        return [place]
    found = sorted(path.parent for path in place.glob(f"*/{PLAN}"))
    if not found:
        raise SimnetError(f"{place}: neither a study's folder nor a folder of studies; `simnet sweep` makes them")
    return found


def _named(table: pl.DataFrame, study: str) -> pl.DataFrame:
    import polars as pl

    return table.select(pl.lit(study).alias("study"), pl.all())
