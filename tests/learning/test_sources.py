"""What `data.source` may name: words, files, and a source of the user's own."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.errors import ScenarioError
from simnet.learning.data_section import Data
from simnet.learning.sources import SOURCES, FileRows
from simnet.record.fitness import PEAKS_SCALE

SENSORS = dedent(
    '''
    import numpy as np
    from simnet.extend import Count, DataSource, Dataset, Field, FileName

    class Sensors(DataSource):
        """Two clusters of readings."""

        rows: Count = Field(80, description="how many")

        def draw(self, rng):
            y = rng.choice([-1.0, 1.0], self.rows)
            return rng.normal(size=(self.rows, 3)) + y[:, None], y

    class Named(Sensors):
        """The same as a data set."""

        def draw(self, rng):
            return Dataset("mine", *super().draw(rng))

    class Wrong(Sensors):
        """It forgets a label."""

        wrong: str = Field("labels", description="what is wrong")

        def draw(self, rng):
            X, y = super().draw(rng)
            return {
                "labels": (X, y[1:]),
                "kind": (X, y + 1),
                "flat": (X[0], y),
                "nan": (np.full_like(X, np.nan), y),
                "text": ("text", y),
            }[self.wrong]

    class FromFile(DataSource):
        """Readings in a file of its own form."""

        file: FileName = Field(description="a number per line")

        def read(self, find):
            found = self.model_copy()
            object.__setattr__(found, "_lines", find(self.file).read_text().split())
            return found

        def draw(self, rng):
            X = np.array(self._lines, dtype=float)[:, None]
            return X, np.sign(X[:, 0])
    '''
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own.py").write_text(SENSORS)
    return tmp_path


def scenario(folder, source, **data):
    content = {
        "rounds": 2,
        "data": {"source": source, **data},
        "topology": {"kind": "ring", "agents": 3},
        "algorithm": {"name": "admm"},
    }
    return Scenario.of(content, folder=folder)


def test_a_source_is_written_as_it_was_given(folder):
    for source in ("adult", "a9a", "folder/rows.csv", "own.py:Sensors", {"kind": "own.py:Sensors", "rows": 60}):
        written = scenario(folder, source).resolved()["data"]["source"]
        assert written == source
        assert scenario(folder, written) == scenario(folder, source)


def test_a_source_tells_which_files_it_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMNET_DATA", str(tmp_path))
    (tmp_path / "a9a").mkdir()
    train, test = tmp_path / "a9a/a9a.xz", tmp_path / "a9a/a9a.t.xz"
    for path in (train, test, tmp_path / "mine.csv"):
        path.touch()
    for source, files in {
        "a9a": [train, test],
        "mine.csv": [tmp_path / "mine.csv"],
        "adult": [],
        "twonorm": [],
    }.items():
        found = Data(source=source).source
        assert isinstance(found, FileRows if files else SOURCES[source])
        assert found.paths(Path) == files


@pytest.mark.parametrize("word", SOURCES)
def test_a_built_in_source_gives_rows_under_its_name(word):
    data = Data(source=word)
    whole, test = data.source.load(data, Path, np.random.default_rng(1))
    assert (whole.name, test) == (word, None)
    assert whole.rows == {"adult": 45_222, "adult-41": 48_842, "adult-age": 45_222, "digits": 1_797}.get(word, 5_000)
    assert whole.labels == data.source.labels
    assert np.array_equal(whole.y, data.source.draw(np.random.default_rng(1)).y)


def test_rows_of_the_users_own_are_learned_from(folder):
    first = run(scenario(folder, {"kind": "own.py:Sensors", "rows": 60}))
    assert first.summary["accuracy"]["test_error"] < 0.5
    assert first.summary["digest"] == run(scenario(folder, {"kind": "own.py:Sensors", "rows": 60})).summary["digest"]
    named, plain = run(scenario(folder, "own.py:Named")), run(scenario(folder, "own.py:Sensors"))
    assert named.summary["accuracy"] == plain.summary["accuracy"]


def test_a_source_of_the_users_own_may_read_a_file_beside_the_scenario(folder):
    (folder / "readings.txt").write_text("\n".join(str(value) for value in np.linspace(-1, 1, 40)))
    found = scenario(folder, {"kind": "own.py:FromFile", "file": "readings.txt"})
    assert list(found.files()) == ["readings.txt"]
    assert run(found).summary["accuracy"]["test_error"] < 0.2


def test_rows_that_may_be_private_are_not_scaled_by_each_other_unseen(folder):
    assert PEAKS_SCALE in scenario(folder, "own.py:Sensors").caveats()
    assert PEAKS_SCALE in scenario(folder, "mine.csv").caveats()
    assert PEAKS_SCALE not in scenario(folder, "own.py:Sensors", scale="rows").caveats()
    for word in (*SOURCES, "a9a"):
        assert PEAKS_SCALE not in scenario(folder, word).caveats()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("labels", "80 rows need as many labels"),
        ("kind", "labels must be -1 or [+]1"),
        ("flat", "features are a table of rows and columns, not of shape"),
        ("nan", "a feature is not a finite number"),
        ("text", "could not convert string to float"),
    ],
)
def test_what_a_source_of_the_users_own_gives_is_checked(folder, wrong, said):
    with pytest.raises(ScenarioError, match=f"data.source = 'own.py:Wrong': .*{said}"):
        run(scenario(folder, {"kind": "own.py:Wrong", "wrong": wrong}))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"source": 3}, "data.source = 3: one of adult, .*, waveform, a data file, or a table with that kind"),
        ({"source": ""}, 'data.source = "": a line of text, not blank'),
        ({"source": "own.py:Sensors", "rows": 5}, "data.rows = 5: only the source synthetic or twonorm or ringnorm or"),
        ({"source": {"kind": "own.py:Sensors", "row": 5}}, "data.source.row: own.py:Sensors has no such field .*rows"),
        ({"source": {"kind": "rows.csv", "rows": 5}}, "data.source.rows"),
        ({"partition": "evn"}, 'data.partition = "evn": choose one of even, uneven, skewed .did you mean even?'),
    ],
)
def test_a_mistake_is_one_sentence(folder, data, said):
    with pytest.raises(ScenarioError, match=said):
        scenario(folder, **({"source": "adult"} | data))


def test_classes_and_numbers_are_no_signs(folder):
    with pytest.raises(ScenarioError, match=r"data.source = 'digits': its labels are classes, counted from 0"):
        run(scenario(folder, "digits"))
