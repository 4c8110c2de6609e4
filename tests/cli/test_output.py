"""What reaches the terminal: names of strangers as text, whatever stands in them."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from simnet import run
from simnet.cli.output import say
from simnet.cli.study_tables import answer_csv, answer_json, answer_table
from simnet.cli.terminal import run_table, show, show_json
from simnet.cli.widths import fitting
from simnet.record import events as ev
from simnet.record.formats import csv_text, export_csv
from tests.called import called
from tests.record.stories import start, write
from tests.worlds import world

ROOT = Path(__file__).parents[2]
NASTY = "[red]x[/] [/] [bold :smile: \x1b[31m \u202e"


def printable(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text)


def test_markup_in_a_name_breaks_no_table(capsys):
    show(run_table(run(world(rounds=1, name="[red]x[/] [/nothing] :smile:"))))
    assert "[red]x[/] [/nothing] :smile:" in capsys.readouterr().out


def test_cells_headings_titles_and_captions_are_text(capsys):
    table = Table(NASTY, title=NASTY, caption=NASTY)
    table.add_row(NASTY)
    show(table)
    out = capsys.readouterr().out
    assert printable(out)
    assert out.count(r"[red]x[/] [/] [bold :smile: \u001b[31m \u202e") == 4


def test_a_sentence_is_one_line_and_json_the_same_json(capsys):
    say(f"a {NASTY}\nsimnet: the log holds")
    assert capsys.readouterr().out.splitlines()[0].endswith(r"\u202e\nsimnet: the log holds")
    show_json({NASTY: NASTY})
    out = capsys.readouterr().out
    assert printable(out)
    assert json.loads(out) == {NASTY: NASTY}


def test_answers_of_a_query_are_text_and_no_formulas(capsys):
    polars = pytest.importorskip("polars")
    answer = polars.DataFrame({"=cmd()": ["=1+1", NASTY, None], "n": [-1, 2, 3], "ok": [True, False, None]})
    show(answer_table(answer))
    assert printable(capsys.readouterr().out)
    head, first, *_ = "".join(answer_csv(answer)).splitlines()
    assert head == "'=cmd(),n,ok"
    assert first == "'=1+1,-1,true"


def test_a_long_answer_is_written_in_pieces_and_is_the_same():
    polars = pytest.importorskip("polars")
    for height in (0, 1, 100, 101, 250):
        answer = polars.DataFrame({"=n": range(height), "'=n": [f"row {n}" for n in range(height)]})
        assert json.loads("".join(answer_json(answer))) == answer.to_dicts()
        told = list(csv.reader("".join(answer_csv(answer)).splitlines()))
        assert told == [["'=n", "'=n"], *([str(n), f"row {n}"] for n in range(height))]


def test_texts_of_events_are_no_formulas_and_numbers_stay(tmp_path):
    begin = start(2, [(0, 1)])
    faults = [(1.0, ev.FaultBegan(fault, 0)) for fault in ("=HYPERLINK(1)", "@x", "crash")]
    (tmp_path / "log").write_bytes(write([(0.0, begin), *faults, (2.0, ev.RunFinished([0, 0], "", ""))])[0])
    with (tmp_path / "faults.csv").open("w") as out:
        export_csv(tmp_path / "log", "fault.began", out)
    rows = (tmp_path / "faults.csv").read_text().splitlines()[1:]
    assert [row.split(",")[2] for row in rows] == ["'=HYPERLINK(1)", "'@x", "crash"]
    assert csv_text([{"a": -1.5, "b": "-x", "c": None}]) == "a,b,c\n-1.5,'-x,\n"


def test_an_export_is_exact_in_a_file_and_harmless_on_a_terminal(tmp_path):
    begin = start(2, [(0, 1)])
    fault = (1.0, ev.FaultBegan("\u202eesrever \x9b31m", 0))
    (tmp_path / "log").write_bytes(write([(0.0, begin), fault, (2.0, ev.RunFinished([0, 0], "", ""))])[0])
    _, out, _ = called("log", "export", str(tmp_path / "log"))
    assert "\u202e" in out
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from simnet.cli import main; main()", "log", "export", str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=theirs, env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:
                break
            if not block:
                break
            shown += block
    os.close(ours)
    assert process.returncode == 0
    text = shown.decode().replace("\r\n", "\n")
    assert printable(text)
    assert [json.loads(each) for each in text.splitlines()] == [json.loads(each) for each in out.splitlines()]


def narrow(table: Table, width: int) -> str:
    """What a terminal of this width shows."""
    out = Console(width=width, file=io.StringIO(), highlight=False)
    for part in fitting(table, out):
        out.print(part)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_a_table_that_is_too_wide_is_turned_and_nothing_of_it_is_cut(width):
    headings = ["method", *(f"heading{k}" for k in range(15))]
    table = Table(*headings, title="five methods", caption="said below")
    for row in range(5):
        table.add_row(f"method-{row}", *(f"{row}.{k:04}" for k in range(15)))
    shown = narrow(table, width)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    for word in ("five methods", "said below"):
        assert shown.count(word) == 1
    for row in range(5):
        assert f"method-{row}" in shown
        assert all(f"{row}.{k:04}" in shown for k in range(15))


def test_a_table_that_fits_stays_as_it_is():
    table = Table("a", "b", "c")
    table.add_row("1", "2", "3")
    assert fitting(table, Console(width=80)) == [table]


def test_long_words_are_folded_and_not_cut():
    table = Table(show_header=False)
    table.add_row("what", "x" * 100)
    assert narrow(table, 40).count("x") == 100


def test_of_a_wide_answer_columns_without_a_value_are_left_out(capsys):
    polars = pytest.importorskip("polars")
    answer = polars.DataFrame({f"c{k}": [None if k % 2 else 1.5] for k in range(40)})
    table = answer_table(answer)
    assert len(table.columns) == 20
    assert table.caption == "… and 20 columns without a value; --json or --csv gives all"
    assert "…" not in narrow(answer_table(answer), 80).replace("… and 20", "")


def test_of_a_wide_answer_columns_of_long_texts_are_left_out_too():
    polars = pytest.importorskip("polars")
    answer = polars.DataFrame({f"c{k}": [1.5] for k in range(20)} | {"resolved": ["x" * 100], "name": ["admm"]})
    table = answer_table(answer)
    assert [column.header for column in table.columns][-1] == "name"
    assert table.caption == "… and 1 columns of long texts; --json or --csv gives all"
    few = answer_table(answer.select("resolved"))
    assert [column.header for column in few.columns] == ["resolved"], "who asks for it gets it"


def test_a_table_in_a_pipe_grows_a_little_and_is_turned_when_it_would_grow_much(capsys):
    for columns, longest in ((24, 250), (80, 100)):
        table = Table(*(f"c{k}" for k in range(columns)))
        table.add_row(*(f"{k:05}" for k in range(columns)))
        show(table)
        told = capsys.readouterr().out
        assert 80 < max(map(len, told.splitlines())) <= longest or columns == 80
        assert all(f"{k:05}" in told for k in range(columns))
