"""Where noise comes from: what a seed gives away, and a key does not."""

from __future__ import annotations

import hashlib
import hmac
import secrets

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.privacy.noise_key import fingerprint, noise_root, read_key
from simnet.privacy.secret_noise import SecretStreams
from simnet.record.lines import unpack
from simnet.simulate import peers_of
from simnet.streams import SECRET, Streams
from tests.worlds import ROWS

BASE = {
    "rounds": 2,
    "data": ROWS,
    "topology": {"kind": "ring", "agents": 3},
    "algorithm": {"name": "pp-admm", "eta": 0.5},
    "network": {"link": {"latency": {"kind": "lognormal", "median": 0.02, "sigma": 0.5}}},
}


def scenario(**changes) -> Scenario:
    return Scenario.of(BASE).with_(**changes)


def releases(result) -> list[bytes]:
    return [unpack(event.value).tobytes() for _, _, event in result.events if event.kind == "release.made"]


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "noise.key"
    path.write_text(secrets.token_hex(32) + "\n")
    path.chmod(0o600)
    return path


def noise_by(seed: int, features: int) -> np.ndarray:
    """What agent 0 adds in its first round, drawn by anybody who knows the seed."""
    return Streams(seed).generator("noise", 0).standard_normal(2 * features)


def test_whoever_finds_the_seed_takes_the_noise_off_again():
    """The times of messages alone tell the seed; its first draw is then the noise of the first release."""
    secret = 1234
    told = [t for _, t, event in run(scenario(seed=secret)).events if event.kind == "message.delivered"]
    found = [
        seed
        for seed in range(1200, 1300)
        if [t for _, t, event in run(scenario(seed=seed)).events if event.kind == "message.delivered"] == told
    ]
    assert found == [secret]
    peer = peers_of(build(scenario(seed=secret)))[0]
    np.testing.assert_array_equal(peer.draw(), noise_by(secret, 3))


def test_a_key_gives_noise_that_the_seed_does_not_tell_and_the_same_network(key):
    keyed, plain = scenario(**{"privacy.noise": "key", "privacy.noise_key": str(key)}), scenario()
    with_key, again, without = run(keyed), run(keyed), run(plain)
    assert with_key.digest == again.digest
    assert not set(releases(with_key)) & set(releases(without))
    assert peers_of(build(keyed))[0].draw().tolist() != noise_by(1, 3).tolist()
    arrived = [[t for _, t, event in each.events if event.kind == "message.delivered"] for each in (with_key, without)]
    assert arrived[0] == arrived[1]


@pytest.mark.parametrize("change", [{"privacy.epsilon": 2.0}, {"rounds": 3}, {"data.seed": 5}])
def test_one_key_gives_other_noise_to_another_setting_and_to_other_rows(key, change):
    keyed = {"privacy.noise": "key", "privacy.noise_key": str(key)}
    one, other = (peers_of(build(scenario(**keyed, **each)))[0].draw() for each in ({}, change))
    assert not np.any(one == other)


def test_one_key_gives_other_noise_when_a_file_that_the_scenario_names_has_changed(key, tmp_path):
    """The same rows on another graph have other linear terms; under the same noise the difference gives them away."""
    graph = tmp_path / "graph.csv"
    keyed = {"privacy.noise": "key", "privacy.noise_key": str(key)}
    drawn = []
    for links in ("source,target\n0,1\n1,2\n", "source,target\n0,1\n1,2\n2,0\n"):
        graph.write_text(links)
        drawn.append(peers_of(build(scenario(**keyed, topology={"kind": "file", "file": str(graph)})))[0].draw())
    assert not np.any(drawn[0] == drawn[1])


def test_one_key_gives_other_noise_to_another_version(key, monkeypatch):
    keyed = scenario(**{"privacy.noise": "key", "privacy.noise_key": str(key)})
    before = peers_of(build(keyed))[0].draw()
    monkeypatch.setattr("simnet.build.VERSION", "another")
    assert not np.any(peers_of(build(keyed))[0].draw() == before)


def test_a_key_does_not_know_the_users_own_processes(key):
    """They change what is sent when, and the noise could not tell two such runs apart."""
    keyed = scenario(**{"privacy.noise": "key", "privacy.noise_key": str(key)})
    with pytest.raises(ScenarioError, match=r"privacy\.noise = 'key': .* choose 'fresh'"):
        run(keyed, attach=[lambda engine: None])
    run(scenario(**{"privacy.noise": "fresh"}), attach=[lambda engine: None])


def test_fresh_noise_is_never_the_same_twice():
    one, other = (run(scenario(**{"privacy.noise": "fresh"})) for _ in range(2))
    assert one.digest != other.digest


def test_all_randomness_of_privacy_comes_from_the_key():
    """Labels of PDML, its tilt, the sparse vector test and every noise: no secret role is left to the seed."""
    keyed = SecretStreams(7, secret=b"k" * 32)
    for role in SECRET:
        assert keyed.generator(role, 0).random() != Streams(7).generator(role, 0).random()
        assert keyed.generator(role, 0).random() == SecretStreams(8, secret=b"k" * 32).generator(role, 0).random()
    for role in ("latency", "loss", "partition", "codec"):
        assert keyed.generator(role, 0).random() == Streams(7).generator(role, 0).random()


def test_the_record_tells_which_key_it_was_and_nothing_about_it(key):
    keyed = run(scenario(**{"privacy.noise": "key", "privacy.noise_key": str(key)}))
    start = next(event for _, _, event in keyed.events)
    assert start.noise_key == hashlib.sha256(bytes.fromhex(key.read_text().strip())).hexdigest()
    assert key.read_text().strip().encode() not in keyed.log
    assert start.noise_key == fingerprint(read_key(key))


def test_the_root_is_hmac_over_parts_that_cannot_be_shifted_into_each_other():
    plain = hmac.new(b"k" * 32, (1).to_bytes(8, "big") + b"a" + (2).to_bytes(8, "big") + b"bc", hashlib.sha256)
    assert noise_root(b"k" * 32, [b"a", b"bc"]) == plain.digest()
    assert noise_root(b"k" * 32, [b"ab", b"c"]) != noise_root(b"k" * 32, [b"a", b"bc"])


@pytest.mark.parametrize(
    ("content", "mode", "complaint"),
    [
        ("abc", 0o600, "64 hexadecimal digits"),
        ("g" * 64, 0o600, "64 hexadecimal digits"),
        ("a" * 64, 0o644, "others can read it"),
        ("é", 0o600, "cannot be read"),
        (None, 0o600, "cannot be read"),
    ],
)
def test_a_key_that_is_none_is_one_sentence(tmp_path, content, mode, complaint):
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content, encoding="utf-8")
        path.chmod(mode)
    with pytest.raises(ScenarioError, match=rf"privacy\.noise_key.*{complaint}"):
        build(scenario(**{"privacy.noise": "key", "privacy.noise_key": str(path)}))


@pytest.mark.parametrize("change", [{"privacy.noise": "key"}, {"privacy.noise_key": "k"}])
def test_a_key_and_its_word_go_together(change):
    with pytest.raises(ScenarioError, match="noise_key"):
        scenario(**change)
