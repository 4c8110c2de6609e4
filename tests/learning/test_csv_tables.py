"""CSV files as people have them: words, blanks, semicolons, decimal commas, columns to leave out."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from simnet.learning.csv_tables import comma_separated
from simnet.learning.dataset import Matrix
from simnet.learning.table_form import TableForm
from tests.learning.test_file_formats import refusal, tables, written
from tests.learning.test_text_lines import packed
from tests.learning.test_text_lines import refusal as small_refusal

WORDS = "; data.categorical = [{}] makes features of words, and data.drop leaves a column out"
BLANK = (
    "; data.missing = 'drop' leaves out such rows, 'mean' fills in the mean of the column, 'category' makes a feature "
    "of being blank"
)


def dense(X: Matrix) -> list[list[float]]:
    return (X.toarray() if isinstance(X, scipy.sparse.csr_array) else X).tolist()


def test_a_table_of_words_and_blanks_becomes_features(tmp_path):
    text = "id;age;job;y\n1;39;nurse;yes\n2;;clerk;no\n3;51;?;no\n4;NA;nurse;yes\n"
    path = written(tmp_path, "a.csv", text)

    def read(missing):
        return comma_separated(path, TableForm(drop=("id",), categorical=("job",), missing=missing))

    assert dense(read("drop").X) == [[39, 1]], "nobody is left who is a clerk"
    # job=clerk, job=nurse in the order of the words, whichever came first
    assert dense(read("mean").X) == [[39, 0, 1, 0], [45, 1, 0, 0], [51, 0, 0, 1], [45, 0, 1, 0]]
    assert dense(read("category").X) == [[39, 0, 0, 1, 0], [0, 1, 1, 0, 0], [51, 0, 0, 0, 1], [0, 1, 0, 1, 0]]
    assert read("drop").labels.tolist() == ["yes"]
    done = read("category").prepared
    assert done.counts() == {
        "rows": 4,
        "rows_left_out": 0,
        "blanks_filled": 3,
        "columns_left_out": 1,
        "number_columns": 1,
        "category_columns": 1,
        "features": 5,
    }
    assert done.told()["columns of categories"] == "job (2)"
    assert read("drop").prepared.told()["rows of the file"] == "4 read; 3 left out for a blank"


def test_public_categories_do_not_come_from_the_rows(tmp_path):
    path = written(tmp_path, "a.csv", "age,job,y\n1,nurse,0\n2,pilot,1\n")
    form = TableForm(categories=(("job", ("clerk", "nurse")),), missing="category")
    assert dense(comma_separated(path, form).X) == [[1, 0, 1, 0], [2, 0, 0, 1]]
    assert "'job': none of its data.categories, so it is a blank; data.missing = 'drop'" in refusal(
        comma_separated, path, TableForm(categories=(("job", ("clerk", "nurse")),))
    )


def test_all_columns_of_words_can_be_asked_for_at_once(tmp_path):
    path = written(tmp_path, "a.csv", "n,job,m,city,y\n1,a,,u,0\n2,b,3,v,1\n")
    table = comma_separated(path, TableForm(categorical="text", missing="mean"))
    assert table.prepared.categories == (("job", 2), ("city", 2))
    assert dense(table.X) == [[1, 1, 0, 3, 1, 0], [2, 0, 1, 3, 0, 1]]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a;y\n1,5;0\n2;1\n", TableForm(decimal=",")),
        ("a\ty\n1.5\t0\n2\t1\n", TableForm()),
        ("a|y\n1.5|0\n2|1\n", TableForm()),
        ("\n\na;y\n1.5;0\n2;1\n", TableForm()),
        ('a,y\n"1,5","0,0"\n2,1\n', TableForm(decimal=",")),
        ("a:y\n1.5:0\n2:1\n", TableForm(separator=":")),
        ("1.5;0\n2;1\n", TableForm()),
    ],
)
def test_separators_and_decimal_signs_are_read_as_they_are_used(tmp_path, text, form):
    table = comma_separated(written(tmp_path, "a.csv", text), form)
    assert (dense(table.X), table.labels.tolist()) == ([[1.5], [2.0]], [0.0, 1.0])


cells = st.sampled_from(["", "?", "NA", "1", "2.5", "-3"])
words = st.sampled_from(["", "?", "a", "b", "c c"])


@given(st.lists(st.tuples(cells, words, words, cells), min_size=1, max_size=12), st.sampled_from(["mean", "category"]))
def test_features_are_those_of_a_plain_loop(tmp_path_factory, rows, missing):
    """The same by loops over cells: what a number, a category and a blank become."""
    lines = ["n,c,d,m,y", *(",".join([*row, str(k % 2)]) for k, row in enumerate(rows))]
    path = written(tmp_path_factory.getbasetemp(), "loop.csv", "\n".join(lines))
    found = comma_separated(path, TableForm(categorical=("c", "d"), missing=missing))
    columns: list[list[float]] = []
    for place, values in enumerate(zip(*rows, strict=True)):
        blank = [value in ("", "?", "NA") for value in values]
        if place in (1, 2):
            columns += [[float(v == word) for v in values] for word in sorted({*values} - {"", "?"})]
            columns += [list(map(float, blank))] if any(blank) else []
            continue
        known = [float(v) for v, absent in zip(values, blank, strict=True) if not absent]
        filler = float(np.mean(known)) if known and missing == "mean" else 0.0
        columns.append([filler if absent else float(v) for v, absent in zip(values, blank, strict=True)])
        columns += [list(map(float, blank))] if any(blank) and missing == "category" else []
    np.testing.assert_allclose(np.array(dense(found.X)), np.array(columns).T)


@given(tables, st.booleans())
def test_csv_is_read_back_to_the_last_bit(tmp_path_factory, X, header):
    lines = [",".join(repr(float(v)) for v in row) + f",{k % 2}" for k, row in enumerate(X)]
    if header:
        lines.insert(0, ",".join(f"c{k}" for k in range(X.shape[1])) + ",class")
    path = written(tmp_path_factory.getbasetemp(), "written.csv", "\n".join(lines) + "\n")
    found = comma_separated(path, TableForm("class" if header else -1))
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.labels, np.arange(len(X)) % 2)


def test_the_label_column_is_found_by_name_or_by_number(tmp_path):
    path = written(tmp_path, "a.csv", "\ufeffage, income ,hours\n39,yes,40\n\n50,no,13\n")
    for label in ("income", 1, -2):
        found = comma_separated(path, TableForm(label))
        assert (dense(found.X), found.labels.tolist()) == ([[39.0, 40.0], [50.0, 13.0]], ["yes", "no"])
    bare = written(tmp_path, "b.csv", '"1","2",0\n3,4,1\n')
    found = comma_separated(bare, TableForm(0))
    assert (dense(found.X), found.labels.tolist()) == ([[2.0, 0.0], [4.0, 1.0]], [1.0, 3.0])


@pytest.mark.parametrize(
    ("text", "label", "complaint"),
    [
        (
            "age,job,y\n39,1,1\n39,clerk,1\n",
            -1,
            ", line 3, column 'job': 'clerk' is not a number" + WORDS.format("'job'"),
        ),
        ("age,job,y\n39,clerk,1\n", -1, ", line 2, column 'job': not a number" + WORDS.format("'job'")),
        ("name,job,y\nx,clerk,1\n", 2, ", line 2, column 'name': not a number" + WORDS.format("'name', 'job'")),
        ("name,job,y\nx,clerk,z\n", 2, ", line 2, column 1: not a number" + WORDS.format("0, 1")),
        ("39,40,1\n50,,0\n", -1, ", line 2, column 2: a blank" + BLANK),
        ("39,clerk,1\n", -1, ", line 1, column 2: not a number" + WORDS.format("1")),
        ("y,age\n1,39\n\n0,NaN\n", "y", ", line 4, column 'age': a blank" + BLANK),
        ("y,age\n1,39\n\n0,inf\n", "y", ", line 4, column 'age': 'inf' is not a finite number"),
        ('y,age\n1,"3,5"\n', "y", ", line 2, column 'age': not a number; data.decimal = ',' reads it as one"),
        ("1,2,3\n4,5\n", -1, ", line 2: 2 cells instead of 3"),
        ("a,b,c\n\n1,2,3,4\n", -1, ", line 3: 4 cells instead of 3"),
        ("1,2,3\n", 3, ": data.label = 3: there are 3 columns, counted from 0"),
        ("1,2,3\n", "y", ": data.label = 'y': the file has no header, so its columns have no names but indices from 0"),
        ("a,b\n1,2\n", "y", ": data.label = 'y': no column is called that; they are 'a', 'b'"),
        ("a,b\nc,d\n", "y", ": data.label = 'y': no column is called that"),
        ("y,a,y\n1,2,3\n", "y", ": data.label = 'y': 2 columns are called that; they are 'y', 'a', 'y'"),
        ("1\n0\n", -1, ": a label column and at least one column of features are needed"),
        ("", -1, ": a label column and at least one column of features are needed"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said_with_line_and_column(tmp_path, text, label, complaint):
    assert refusal(comma_separated, written(tmp_path, "a.csv", text), TableForm(label)) == complaint


def test_a_bad_cell_far_down_a_long_csv_file_is_found(tmp_path):
    rows = ["1,2,0"] * 10_000
    rows[9_000] = "1,oops,0"
    path = written(tmp_path, "long.csv", "a,b,y\n" + "\n".join(rows))
    assert ", line 9002, column 'b': 'oops' is not a number; " in refusal(comma_separated, path, TableForm("y"))


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (TableForm(drop=("y",)), "data.label and data.drop both name the column 'y'"),
        (TableForm(drop=("a",), categorical=("a",)), "data.drop and data.categorical both name the column 'a'"),
        (TableForm(drop=("a", "b")), "data.drop leaves no column of features"),
        (TableForm(drop=("c",)), "data.drop = 'c': no column is called that; they are 'a', 'b', 'y'"),
        (TableForm(categories=(("c", ("u",)),)), "data.categories = 'c': no column is called that"),
    ],
)
def test_columns_that_are_said_wrongly_are_a_sentence(tmp_path, form, said):
    form = TableForm("y", **{name: value for name, value in vars(form).items() if name != "label"})
    assert said in refusal(comma_separated, written(tmp_path, "a.csv", "a,b,y\n1,2,3\n"), form)


def test_decimal_commas_are_no_categories(tmp_path):
    path = written(tmp_path, "a.csv", "a;b;y\n1;2,5;0\n")
    assert "column 'b': not a number; data.decimal = ','" in refusal(
        comma_separated, path, TableForm(categorical="text")
    )


def test_a_column_of_names_is_no_column_of_categories(tmp_path):
    path = written(tmp_path, "a.csv", "name,y\n" + "".join(f"n{k},{k % 2}\n" for k in range(1500)))
    assert "column 'name': there are more than 1,000 categories; data.drop leaves a column out" in refusal(
        comma_separated, path, TableForm(categorical=("name",))
    )


@pytest.mark.parametrize(
    ("form", "block"),
    [
        (TableForm(categorical="text"), b"a,b,c,d,0\na,c,b,d,1\n" * 20_000),
        (TableForm(categorical=(0, 1), missing="mean"), b",,1,1,0\na,?,1,1,1\n" * 30_000),
        (TableForm(missing="category"), b",,1,1,0\n1,?,1,1,1\n" * 30_000),
    ],
)
def test_words_without_an_end_take_little_memory(tmp_path, monkeypatch, form, block):
    monkeypatch.setenv("SIMNET_MEMORY", "4")
    assert "would take more than 4 MB" in small_refusal(comma_separated, packed(tmp_path, "a.csv.gz", block, 40), form)


def test_long_words_take_little_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMNET_MEMORY", "16")
    with gzip.open(tmp_path / "a.csv.gz", "wt") as handle:
        for k in range(1000):
            handle.write(f"1,{k:0100000},{k % 2}\n")
    form = TableForm(categorical=(1,))
    assert "would take more than 16 MB" in small_refusal(comma_separated, tmp_path / "a.csv.gz", form)


@pytest.mark.parametrize(("suffix", "module"), [("xz", lzma), ("bz2", bz2), ("gz", gzip)])
def test_a_compressed_table_is_read_like_a_plain_one(tmp_path, suffix, module):
    path = tmp_path / f"small.csv.{suffix}"
    path.write_bytes(module.compress(b"0,5,1\n7,0,-1\n"))
    assert dense(comma_separated(path).X) == [[0.0, 5.0], [7.0, 0.0]]


def test_text_in_another_code_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe,y\n1,2\n".encode("latin-1"))
    assert refusal(comma_separated, tmp_path / "a.csv") == ": this is not text in UTF-8"


@pytest.mark.parametrize("form", [TableForm(), TableForm("y"), TableForm(categorical="text", missing="drop")])
def test_columns_without_an_end_are_refused_before_they_are_kept(tmp_path, form):
    (tmp_path / "a.csv").write_text("\n".join(",".join([cell] * 600_000) for cell in ("abcde", "12.75", "12.50")))
    assert "a table of 600,000 columns would take" in small_refusal(comma_separated, tmp_path / "a.csv", form)
