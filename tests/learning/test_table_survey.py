"""What a file's columns hold, found without being told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import DataError
from simnet.learning.csv_tables import comma_separated
from simnet.learning.table_form import TableForm
from simnet.learning.table_survey import MOST_LABELS, survey


def written(tmp_path, *lines: str):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_numbers_words_blanks_and_the_label_are_told_apart(tmp_path):
    found = survey(written(tmp_path, "age;job;income;y", "40;nurse;20,5;yes", ";smith;30,1;no", "38;?;NA;no"))
    assert (found.numbers, found.words, found.label, found.decimal) == (("age", "income"), ("job",), "y", ",")
    assert found.blanks == {"age": 1, "job": 1, "income": 1}
    assert (found.rows, found.keys) == (3, ())


def test_labels_are_counted_without_the_blanks(tmp_path):
    found = survey(written(tmp_path, "x;y", "1;yes", "2;?", "3;no", "4;yes", "5;"))
    assert (found.labels, found.unlabelled) == ({"no": 1, "yes": 2}, 2)
    found = survey(written(tmp_path, "x,y", "1,0", "2,NA", "3,1"))
    assert (found.labels, found.unlabelled) == ({"0": 1, "1": 1}, 1)
    many = survey(written(tmp_path, "x,y", *(f"1,{k}.5" for k in range(1000))))
    assert len(many.labels) > MOST_LABELS


def test_na_is_a_word_among_words_as_it_is_when_the_rows_are_read(tmp_path):
    path = written(tmp_path, "job,income,y", "cook,1,0", "NA,NA,1", ",2,1")
    assert survey(path).blanks == {"job": 1, "income": 1}
    assert comma_separated(path, TableForm(categorical="text", missing="category")).prepared.blanks == 2


def test_columns_that_only_name_rows_are_found(tmp_path):
    rows = [f"{k + 7},P{k},{k % 3},{k % 2}" for k in range(25)]
    assert survey(written(tmp_path, "row,person,x,y", *rows)).keys == ("row", "person")
    assert survey(written(tmp_path, "row,person,x,y", *rows[:5])).keys == (), "five rows show nothing"


def test_a_number_that_is_not_finite_is_left_to_what_reads_the_file(tmp_path):
    path = written(tmp_path, "x,z,y", "inf,1,0", "1e400,2,1", "3,3,1")
    assert survey(path).numbers == ("x", "z")
    with pytest.raises(DataError, match="line 2, column 'x': not a finite number"):
        comma_separated(path)


def test_a_file_without_a_header_has_columns_by_index(tmp_path):
    found = survey(written(tmp_path, "1.5,a,0", "2.5,b,1"))
    assert (found.numbers, found.words, found.label) == ((0,), (1,), 2)


def test_a_label_that_is_no_column_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(DataError, match="'churn': no column is called that; they are 'x', 'y'"):
        survey(written(tmp_path, "x,y", "1,0"), "churn")


CELLS = st.sampled_from(["1", "2.5", "3,5", "red", "blue", "", "?", "NA"])


@given(st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["yes", "no"])), min_size=2, max_size=8))
def test_what_is_found_is_what_reads_the_file(tmp_path_factory, rows):
    path = written(tmp_path_factory.mktemp("rows"), "a;b;y", *(";".join(cells) for cells in rows))
    found = survey(path)
    form = TableForm(
        label="y",
        decimal=found.decimal,
        drop=found.keys,
        categorical="text" if found.words else (),
        missing="category" if found.blanks else None,
    )
    table = comma_separated(path, form)
    assert table.X.shape[0] == found.rows == len(rows)
    assert tuple(name for name, _ in table.prepared.categories) == found.words
