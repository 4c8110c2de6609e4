from __future__ import annotations

import pytest

from simnet.errors import LiveError
from simnet.live.standalone import load_peers, read_address

FILE = """
run = "clinics"

[agents]
0 = "10.0.0.1:7000"
1 = "[::1]:7001"
"""


def test_a_peer_file_says_where_everybody_is(tmp_path):
    (tmp_path / "peers.toml").write_text(FILE)

    run, agents = load_peers(tmp_path / "peers.toml", 2)

    assert run == "clinics"
    assert agents == {0: ("10.0.0.1", 7000), 1: ("::1", 7001)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (FILE.replace('run = "clinics"', ""), "run is missing"),
        ('run = "x"', r"\[agents\] is missing"),
        (FILE.replace("1 =", "2 ="), "should name the agents 0 to 1, each once"),
        (FILE.replace(":7000", ""), r"agents.0 = '10.0.0.1': should be host:port"),
        ("run = ", "not TOML"),
    ],
)
def test_a_mistake_in_it_is_a_sentence(tmp_path, text, sentence):
    (tmp_path / "peers.toml").write_text(text)

    with pytest.raises(LiveError, match=sentence):
        load_peers(tmp_path / "peers.toml", 2)


def test_a_peer_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(LiveError, match="cannot be read"):
        load_peers(tmp_path / "peers.toml", 2)


@pytest.mark.parametrize("text", ["", "host", "host:", ":80", "host:0", "host:65536", "host:http", "host:²"])
def test_what_is_not_an_address_is_refused(text):
    with pytest.raises(LiveError, match="should be host:port"):
        read_address(text, "--listen")
