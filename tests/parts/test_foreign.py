"""Parts of a user's own: named by a reference, checked like ours, bound by the hash of their source."""

from __future__ import annotations

import pickle
import sys
from hashlib import sha256
from textwrap import dedent

import pytest

from simnet import Scenario, run
from simnet.errors import ScenarioError
from simnet.parts.foreign import is_reference
from simnet.studies.keys import run_key

WEIBULL = dedent(
    '''
    from pydantic import Field
    from simnet.network.latency import Latency
    from simnet.parts.fields import Positive, Seconds

    class Weibull(Latency):
        """Delays with a Weibull distribution."""

        scale: Seconds = Field(description="63 % of the delays are shorter")
        shape: Positive = Field(1.5, description="below 1 the tail is heavy")

        def draw(self, rng, n):
            return self.scale * rng.weibull(self.shape, n)

    class Drawless(Latency):
        """It forgets to say how it draws."""
    '''
)


def content(**latency):
    link = {"latency": {"kind": "weibull.py:Weibull", "scale": "20 ms"} | latency}
    return {
        "rounds": 2,
        "data": {"source": "synthetic", "rows": 60, "features": 3},
        "topology": {"kind": "ring", "agents": 3},
        "algorithm": {"name": "admm"},
        "network": {"link": link},
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "weibull.py").write_text(WEIBULL)
    return tmp_path


def test_a_reference_names_a_class_in_a_file_or_an_installed_module():
    assert all(map(is_reference, ("a.py:B", "sub/a.py:B", "../a.py:B", "package.module:B", "package:B")))
    assert not any(map(is_reference, ("lognormal", "20 ms", "a.py", "a.py:", ":B", "a.csv:B.c", "C:/a.csv", 3, None)))


def test_a_part_of_the_users_own_is_a_part_like_any_other(folder):
    scenario = Scenario.of(content(), folder=folder)
    latency = scenario.network.link.latency
    assert (latency.word, latency.scale, latency.shape) == ("weibull.py:Weibull", 0.02, 1.5)
    assert scenario.resolved()["network"]["link"]["latency"] == {
        "kind": "weibull.py:Weibull",
        "scale": 0.02,
        "shape": 1.5,
    }
    assert Scenario.loads(scenario.to_toml(), folder=folder) == scenario
    assert scenario.with_(seed=2).network.link.latency == latency
    assert run(scenario).summary["digest"] == run(scenario).summary["digest"]


def test_a_bare_reference_stands_for_a_part_with_its_defaults(folder):
    (folder / "slow.py").write_text(WEIBULL.replace('Field(description="63', 'Field(0.5, description="63'))
    link = {"link": {"latency": "slow.py:Weibull"}}
    assert Scenario.of(content() | {"network": link}, folder=folder).network.link.latency.scale == 0.5


def test_an_installed_module_may_have_parts_too(folder, monkeypatch):
    package = folder / "installed_parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "delays.py").write_text(WEIBULL)
    monkeypatch.syspath_prepend(folder)
    scenario = Scenario.of(content(kind="installed_parts.delays:Weibull"))
    assert [part.sha256 for part in scenario.foreign()] == [sha256(WEIBULL.encode()).hexdigest()]


def test_an_entry_point_gives_a_part_a_name_of_its_own(folder, monkeypatch):
    (folder / "delays_of_mine.py").write_text(WEIBULL)
    info = folder / "delays_of_mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: delays-of-mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[simnet.parts]\nweibull = delays_of_mine:Weibull\n")
    monkeypatch.syspath_prepend(folder)
    assert Scenario.of(content(kind="weibull")).network.link.latency.word == "weibull"


@pytest.mark.parametrize(
    ("latency", "said"),
    [
        ({"scale": -1}, 'network.link.latency.scale = -1: a time such as 0.02 or "20 ms", at least 0'),
        ({"scal": 1}, "network.link.latency.scal: weibull.py:Weibull has no such field (did you mean scale?)"),
        (
            {"kind": "weibull.py:Pareto"},
            'latency.kind = "weibull.py:Pareto": weibull.py has no such class; those it has: Weibull, Drawless',
        ),
        ({"kind": "weibul.py:Weibull"}, "weibul.py cannot be read (No such file or directory)"),
        ({"kind": "weibull.py:Drawless"}, "Drawless does not say draw"),
        ({"kind": "nowhere.at_all:Weibull"}, "no module nowhere is installed"),
        ({"kind": "collections:OrderedDict"}, "OrderedDict is none: it does not derive from Latency"),
        ({"kind": "broken.py:Weibull"}, "broken.py cannot be loaded (SyntaxError"),
    ],
)
def test_a_mistake_in_a_part_of_the_users_own_is_one_sentence_too(folder, latency, said):
    (folder / "broken.py").write_text("class Weibull(:\n")
    with pytest.raises(ScenarioError) as refused:
        Scenario.of(content(**latency), folder=folder)
    assert said in str(refused.value)
    assert str(refused.value).startswith("network.link.latency")


def test_the_record_and_the_key_of_a_study_bind_the_source(folder):
    before = Scenario.of(content(), folder=folder)
    first = next(iter(run(before).events))[2]
    assert first.foreign == {"weibull.py:Weibull": sha256(WEIBULL.encode()).hexdigest()}
    key, digest = run_key(before), run(before).summary["digest"]
    (folder / "weibull.py").write_text(WEIBULL + "# another comment\n")
    after = Scenario.of(content(), folder=folder)
    assert run_key(after) != key
    assert run(after).summary["digest"] != digest
    assert run_key(before.with_(seed=1)) == key, "a scenario goes on with what it has loaded"


def test_the_source_travels_with_the_scenario(folder):
    scenario = Scenario.of(content(), folder=folder)
    packed = pickle.dumps(scenario)
    (folder / "weibull.py").unlink()
    for name in [name for name in sys.modules if name.startswith("simnet_part_")]:
        del sys.modules[name]
    assert run(pickle.loads(packed)).summary["digest"] == run(scenario).summary["digest"]
