from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from simnet.errors import DataError
from simnet.learning import data_files
from simnet.learning.data_files import locate, named, read
from simnet.learning.table_form import TableForm

needs_data = pytest.mark.skipif("SIMNET_DATA" not in os.environ, reason="needs the data folder: set SIMNET_DATA")


def touch(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_current_folder_comes_before_the_data_folder(tmp_path, monkeypatch):
    here, data = tmp_path / "here", tmp_path / "data"
    both = touch(here / "both.csv", "here"), touch(data / "both.csv", "data")
    away = touch(data / "away" / "only.csv")
    monkeypatch.chdir(here)
    monkeypatch.setenv("SIMNET_DATA", str(data))
    assert locate("both.csv").read_text() == "here"
    assert locate("away/only.csv") == away
    assert locate(str(both[1])) == both[1]


def test_a_file_that_is_nowhere_is_said_to_be_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIMNET_DATA", raising=False)
    with pytest.raises(DataError, match=r"^there is no data file x\.csv and SIMNET_DATA is not set$"):
        locate("x.csv")
    with pytest.raises(DataError, match="no data file"):
        locate(str(tmp_path / "x.csv"))
    monkeypatch.setenv("SIMNET_DATA", str(tmp_path / "data"))
    with pytest.raises(DataError, match=r"^there is no data file x\.csv in the current folder or in \$SIMNET_DATA$"):
        locate("x.csv")


def test_well_known_names_are_found_in_the_data_folder_with_their_test_files(tmp_path, monkeypatch):
    monkeypatch.delenv("SIMNET_DATA", raising=False)
    assert named("a9a") is None
    monkeypatch.setenv("SIMNET_DATA", str(tmp_path))
    assert named("a9a") is None
    a9a, a9a_test = touch(tmp_path / "a9a" / "a9a.xz"), touch(tmp_path / "a9a" / "a9a.t.xz")
    ijcnn1, ijcnn1_test = (touch(tmp_path / "ijcnn1" / f"ijcnn1.{part}.bz2") for part in ("trn", "tst"))
    splice = touch(tmp_path / "raetsch" / "splice.mat")
    ringnorm = touch(tmp_path / "raetsch" / "ringnorm.csv.xz")
    assert [named(name) for name in ("a9a", "ijcnn1", "splice", "ringnorm")] == [a9a, ijcnn1, splice, ringnorm]
    assert [data_files.test_file(path) for path in (a9a, ijcnn1)] == [a9a_test, ijcnn1_test]
    assert [data_files.test_file(path) for path in (a9a_test, splice, ringnorm)] == [None, None, None]


def test_the_suffix_chooses_the_reader_whatever_its_case(tmp_path):
    X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([-1.0, 1.0])
    np.savez(tmp_path / "a.npz", X=X, y=y)
    scipy.io.savemat(tmp_path / "a.mat", {"x": X, "t": y})
    paths = [
        tmp_path / "a.npz",
        tmp_path / "a.mat",
        touch(tmp_path / "a.v2.CSV", "1,2,-1\n3,4,1\n"),
        touch(tmp_path / "a", "-1 1:1 2:2\n1 1:3 2:4\n"),
        touch(tmp_path / "a.t", "-1 1:1 2:2\n1 1:3 2:4\n"),
    ]
    for path in paths:
        data = read(path)
        assert data.name == "a"
        np.testing.assert_array_equal(data.X, X)
        np.testing.assert_array_equal(data.y, y)
    with pytest.raises(DataError, match=r"a\.parquet: a data file ends in .libsvm, .csv, .tsv, .npz or .mat"):
        read(touch(tmp_path / "a.parquet"))


def test_a_thin_file_becomes_a_sparse_data_set(tmp_path):
    data = read(touch(tmp_path / "thin.svm", "1 50:1\n2 3:1\n"), features=60)
    assert isinstance(data.X, sp.csr_array)
    assert (data.rows, data.features) == (2, 60)


def test_of_two_labels_the_larger_is_positive_unless_another_is_asked_for(tmp_path):
    numbers = touch(tmp_path / "numbers.csv", "0,2\n0,10\n0,2\n")
    words = touch(tmp_path / "words.csv", "0,yes\n0,no\n0,no\n")
    assert read(numbers).y.tolist() == [-1.0, 1.0, -1.0]
    for positive in (2, 2.0, "2", "2.0"):
        assert read(numbers, positive=positive).y.tolist() == [1.0, -1.0, 1.0]
    assert read(words).y.tolist() == [1.0, -1.0, -1.0]
    assert read(words, positive="no").y.tolist() == [-1.0, 1.0, 1.0]
    with pytest.raises(DataError, match=r"numbers\.csv: no label is 3; they are 2.0, 10.0"):
        read(numbers, positive=3)


def test_of_more_labels_one_is_held_against_all_others(tmp_path):
    words = touch(tmp_path / "words.csv", "0,good\n0,fair\n0,bad\n0,good\n")
    assert read(words, positive="good").y.tolist() == [1.0, -1.0, -1.0, 1.0]
    with pytest.raises(DataError, match=r"words\.csv: no label is best; they are bad, fair, good"):
        read(words, positive="best")


@pytest.mark.parametrize(
    ("blank", "others"), [("", ("a", "b")), ("?", ("a", "b")), ("NA", ("0", "1")), ("", ("0", "1"))]
)
def test_a_blank_is_no_label(tmp_path, blank, others):
    one, two = others
    table = touch(tmp_path / "a.csv", f"x,y\n1,{one}\n2,{blank}\n3,{two}\n,{one}\n")
    for positive in (None, one):
        with pytest.raises(DataError, match=r"row 2: there is no label.*data\.unlabelled = 'drop'"):
            read(table, form=TableForm(missing="category"), positive=positive)
    found = read(table, form=TableForm(missing="category", unlabelled="drop"))
    assert (found.y.tolist(), found.features) == ([-1.0, 1.0, -1.0], 2)
    assert read(table, form=TableForm(missing="drop")).y.tolist() == [-1.0, 1.0]
    with pytest.raises(DataError, match="line 5, column 'x': a blank"):
        read(table, form=TableForm(unlabelled="drop"))


def test_a_word_among_words_is_a_label_also_if_it_would_be_a_blank_among_numbers(tmp_path):
    table = touch(tmp_path / "a.csv", "x,y\n1,none\n2,crack\n3,none\n")
    assert read(table, positive="crack").y.tolist() == [-1.0, 1.0, -1.0]
    assert read(touch(tmp_path / "b.csv", "1,-\n2,1\n3,-\n"), positive="1").y.tolist() == [-1.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0,1\n0,1\n", r"exactly two values, not 1 \(1.0\)"),
        ("0,1\n0,2\n0,3\n", r"not 3 \(1.0, 2.0, 3.0\); data\.positive names one that counts as \+1.*, and data.labels"),
        ("".join(f"0,{k}\n" for k in range(9)), r"exactly two values, not 9 \(0.0, 1.0, 2.0, 3.0, 4.0, \.\.\.\)"),
        ("0,1\n0,\n", r"a\.csv, row 2: there is no label.*; data\.unlabelled = 'drop' leaves out such rows"),
        ("0,1\n0,nan\n", r"a\.csv, row 2: there is no label, or it is not a finite number"),
        ("a,b\n", "0 rows of 1 features are nothing to learn from"),
    ],
)
def test_labels_that_are_not_two_classes_are_refused(tmp_path, text, complaint):
    with pytest.raises(DataError, match=complaint):
        read(touch(tmp_path / "a.csv", text))


def test_an_empty_file_and_rows_without_features_are_refused(tmp_path):
    with pytest.raises(DataError, match="0 rows of 0 features are nothing to learn from"):
        read(touch(tmp_path / "a.svm"))
    with pytest.raises(DataError, match="2 rows of 0 features are nothing to learn from"):
        read(touch(tmp_path / "b.svm", "1\n-1\n"))


def test_a_label_column_is_chosen_only_where_there_are_columns(tmp_path):
    with pytest.raises(DataError, match=r"only a CSV file has columns to choose, so data\.label is out of place"):
        read(touch(tmp_path / "a.svm", "1 1:1\n"), form=TableForm("y"))


def test_a_wrong_number_of_features_is_refused(tmp_path):
    with pytest.raises(DataError, match="there are 1 features, not 3"):
        read(touch(tmp_path / "a.csv", "1,0\n2,1\n"), features=3)


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "features", "positive"),
    [
        ("a8a", 22_696, 123, 0.2426),
        ("german", 1000, 20, 0.3),
        ("image", 2310, 18, 0.5714),
        ("banana", 5300, 2, 0.4483),
        ("splice", 3175, 60, 0.4809),
        ("twonorm", 7400, 20, 0.5004),
        ("waveform", 5000, 21, 0.3294),
        ("ringnorm", 7400, 20, 0.5049),
    ],
)
def test_the_benchmark_files_have_their_known_shapes_and_shares(name, rows, features, positive):
    path = named(name)
    assert path is not None
    data = read(path)
    assert (data.name, data.rows, data.features) == (name, rows, features)
    assert (data.y > 0).mean() == pytest.approx(positive, abs=5e-5)


def test_a_file_that_changes_between_two_runs_is_read_again(tmp_path):
    path = touch(tmp_path / "grows.csv", "1,0,1\n0,1,2\n")
    first = read(path)
    assert read(path).X is first.X, "it is not parsed again"
    touch(path, "1,0,1\n0,1,2\n5,5,1\n")
    assert read(path).rows == 3


def test_labels_of_a_file_may_be_classes_or_numbers(tmp_path):
    words, numbers = tmp_path / "words.csv", tmp_path / "numbers.csv"
    words.write_text("a,b,kind\n1,2,pear\n3,4,apple\n5,6,fig\n7,8,apple\n")
    numbers.write_text("1,2,0.5\n3,4,-7\n5,6,2\n")
    fruit = data_files.read(words, labels="class")
    assert (fruit.y.tolist(), fruit.labels, fruit.classes) == ([2.0, 0.0, 1.0, 0.0], "class", 3)
    assert data_files.read(numbers, labels="number").y.tolist() == [0.5, -7.0, 2.0]
    assert data_files.read(numbers, labels="class").y.tolist() == [1.0, 0.0, 2.0]
    with pytest.raises(DataError, match="labels must be numbers, not words such as pear"):
        data_files.read(words, labels="number")
    with pytest.raises(DataError, match="only labels of two values have a positive one; leave 'fig' out"):
        data_files.read(words, labels="class", positive="fig")
    with pytest.raises(DataError, match="exactly two values, not 3"):
        data_files.read(words)


def test_a_test_file_has_the_classes_of_its_training_file(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("1,2,pear\n3,4,apple\n5,6,fig\n")
    test.write_text("1,2,pear\n3,4,fig\n")
    found = data_files.read(test, labels="class", like=train)
    assert (found.y.tolist(), found.classes) == ([2.0, 1.0], 3)
    test.write_text("1,2,pear\n3,4,plum\n")
    with pytest.raises(DataError, match="no training row has the label plum"):
        data_files.read(test, labels="class", like=train)
