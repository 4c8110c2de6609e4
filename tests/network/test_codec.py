"""The codecs of a scenario, and one of the user's own."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import FrameError, ScenarioError
from simnet.network.codec import CODECS, OWN, CodecKind
from simnet.network.codec_faults import codec_faults
from simnet.network.payloads import Changes, Partial
from simnet.streams import Streams
from tests.network.models import a_codec

OWN_CODECS = dedent(
    '''
    import numpy as np
    from pydantic import Field
    from simnet.network.codec import CodecKind
    from simnet.parts.fields import Positive

    class Steps(CodecKind):
        """Whole multiples of a step."""

        step: Positive = Field(0.001, description="what is rounded to")

        def write(self, vector, told, rng):
            return np.clip(np.rint(vector / self.step), -2**31, 2**31 - 1).astype("<i4").tobytes()

        def read(self, data, length):
            return self.step * np.frombuffer(data, "<i4")

    class Differences(Steps):
        """The changes since the last message, in whole multiples of a step."""

        differences = True
        survives_loss = False

        def write(self, vector, told, rng):
            return super().write(vector - told, told, rng)

    class Denied(Differences):
        """Differences that are said to survive loss."""

        survives_loss = True

    class Silent(CodecKind):
        """It does not say how it writes."""

        def read(self, data, length):
            return np.zeros(length)

    class Moved(Steps):
        """Only entries that differ from what was told: an entry that was lost is never told again."""

        entrywise = True

        def read(self, data, length):
            steps = np.frombuffer(data, "<i4")
            return np.where(steps == -2**31, np.nan, self.step * steps)

        def write(self, vector, told, rng):
            steps = np.rint(vector / self.step)
            return np.where(np.abs(vector - told) > self.step, steps, -2**31).astype("<i4").tobytes()
    '''
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own.py").write_text(OWN_CODECS)
    return tmp_path


def scenario(folder, codec, **changes):
    content = {
        "rounds": 30,
        "data": {"source": "synthetic", "rows": 200, "features": 6},
        "topology": {"kind": "ring", "agents": 4},
        "algorithm": {"name": "admm", "eta": 0.05, "regulariser": 0.01},
        "network": {"codec": codec},
    }
    return Scenario.of(content, folder=folder).with_(**changes)


def own(folder, name):
    return scenario(folder, f"own.py:{name}").network.codec


def test_each_codec_has_its_own_number_in_the_frame(folder):
    codecs = [a_codec(name) for name in CODECS] + [a_codec("top-k", values="int8")]
    assert [codec.id for codec in codecs] == [1, 2, 3, 4, 17, 20]
    assert own(folder, "Steps").id == OWN == 255


def test_a_codec_is_written_as_its_word_and_as_a_table_where_it_has_settings(folder):
    for codec in ("float32", "top-k", "own.py:Steps", {"kind": "own.py:Steps", "step": 0.5}):
        written = scenario(folder, codec).resolved()["network"]["codec"]
        assert written == codec
        assert scenario(folder, written) == scenario(folder, codec)
    assert scenario(folder, {"kind": "float32"}).resolved()["network"]["codec"] == "float32"


def test_the_settings_of_top_k_stand_beside_it(folder):
    found = scenario(folder, "top-k", **{"network.topk.values": "float32"}).network
    assert found.codec.word == "top-k"
    assert (found.coding.id, found.coding.company) == (18, "<f4")


def test_an_own_codec_rounds_as_it_says_and_the_sender_goes_on_with_it(folder):
    exact, own_one = run(scenario(folder, "float64")), run(scenario(folder, "own.py:Steps"))
    assert own_one.summary["accuracy"]["objective"] == pytest.approx(exact.summary["accuracy"]["objective"], rel=0.01)
    assert own_one.summary["digest"] == run(scenario(folder, "own.py:Steps")).summary["digest"]
    assert own_one.summary["communication"]["wire_bytes"] < exact.summary["communication"]["wire_bytes"]


def test_differences_add_up_to_what_the_sender_means(folder):
    sender = own(folder, "Differences").made(lambda: Streams(1).generator("codec", 0))
    held = ()
    for vector in np.random.default_rng(1).normal(size=(20, 5)):
        told = sender.decode(sender.encode([vector]))
        assert type(told) is Changes
        held = told.onto(held)
        np.testing.assert_allclose(held[0], vector, atol=0.00051)


LOSSY = [
    ({"network.link.loss": 0.1}, "network.link.loss"),
    ({"network.link.corruption": 0.1}, "network.link.corruption"),
    ({"network.link.queue": 3, "network.link.bandwidth": 1e6}, "network.link.queue"),
    ({"network.line.up": {"bandwidth": 1e6, "queue": 3}}, "network.line.up.queue"),
    ({"network.override": [{"agent": 1, "loss": 0.2}]}, "network.override.loss"),
    ({"network.inbox": {"service": "1 ms", "capacity": 2}}, "network.inbox.capacity"),
    ({"network.peers": 1}, "network.peers"),
    ({"network.channel": {"kind": "aloha", "rate": 1e6}}, "network.channel"),
    ({"fault": [{"kind": "crash", "agent": 0, "at": 1, "duration": 1}]}, "fault"),
    (
        {"network.pacing": "free", "network.link.latency": {"kind": "uniform", "low": 0, "high": 1}},
        "network.link.order",
    ),
]


@pytest.mark.parametrize(("changes", "field"), LOSSY, ids=[field for _, field in LOSSY])
def test_a_codec_that_does_not_survive_loss_is_refused_where_messages_get_lost(folder, changes, field):
    said = f"it does not survive a lost message, and {field} may lose one"
    with pytest.raises(ScenarioError, match=r"network.codec.*: it does not survive") as refused:
        build(scenario(folder, "own.py:Differences", **changes))
    assert said in str(refused.value)
    build(scenario(folder, "own.py:Steps", **changes))


def test_where_every_message_arrives_in_order_it_may_be_used(folder):
    close = {}
    for codec in ("own.py:Differences", "float64"):
        fifo = {"network.link.order": "fifo", "network.link.latency": {"kind": "uniform", "low": 0, "high": 0.1}}
        mended = {"network.transport": "reliable", "network.link.loss": 0.1, "network.pacing": "barrier"}
        for name, changes in {"fifo": {**fifo, "network.pacing": "barrier"}, "mended": mended}.items():
            found = run(scenario(folder, codec, **changes)).summary["accuracy"]["objective"]
            assert found == pytest.approx(close.setdefault(name, found), rel=0.01)


def test_differences_do_not_go_with_running_sums(folder):
    with pytest.raises(ScenarioError, match="it tells differences, and admm sends more than its model"):
        scenario(folder, "own.py:Differences", **{"algorithm.duals": "healing"})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Denied", "what it tells are differences, so it must say survives_loss = False"),
        ("Silent", "it does not say write"),
    ],
)
def test_a_codec_that_says_too_little_is_refused(folder, name, said):
    with pytest.raises(ScenarioError, match=said):
        own(folder, name)


class Twice(CodecKind):
    """It keeps count while it reads."""

    def write(self, vector, told, rng):
        return vector.tobytes()

    def read(self, data, length):
        _SEEN.append(data)
        return np.frombuffer(data) * len(_SEEN)


class Elsewhere(Twice):
    """It draws from everybody's generator."""

    def write(self, vector, told, rng):
        vector += np.random.random()  # noqa: NPY002
        return vector.tobytes()

    def read(self, data, length):
        return np.frombuffer(data)


_SEEN: list[bytes] = []


def test_the_codecs_of_the_house_keep_their_word(folder):
    for codec in (*(a_codec(name) for name in CODECS), a_codec("top-k", share=0.05, values="int8")):
        assert codec_faults(codec) == []
    assert codec_faults(own(folder, "Steps")) == []
    assert codec_faults(own(folder, "Differences")) == [], "it does not claim to survive loss"


def test_a_codec_that_does_not_keep_its_word_is_found(folder):
    (found,) = codec_faults(own(folder, "Moved"))
    assert found.startswith("survives_loss: 600 messages after some were lost, ")
    assert any("depends on the messages before it" in fault for fault in codec_faults(Twice()))
    assert any("a generator that all share" in fault for fault in codec_faults(Elsewhere()))


class Broken(CodecKind):
    """What it reads is what the test wants."""

    answer: str = "short"

    def write(self, vector, told, rng):
        return b"" if self.answer != "text" else "text"

    def read(self, data, length):
        return {"short": [1.0], "infinite": [np.inf] * length, "unsaid": [np.nan] * length}[self.answer]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("short", r"Broken.read gives \(1,\), not 3 numbers"),
        ("infinite", "not finite"),
        ("unsaid", "not finite"),
        ("other", "Broken.read: 'other'"),
        ("text", "Broken.write gives bytes, not str"),
    ],
)
def test_what_an_own_codec_gives_is_checked(answer, said):
    with pytest.raises(FrameError, match=said):
        Broken(answer=answer).made(lambda: Streams(1).generator("codec", 0)).encode([np.ones(3)])


def test_forged_bytes_for_an_own_codec_are_refused(folder):
    receiver = own(folder, "Moved").made(lambda: Streams(1).generator("codec", 0))
    payload = receiver.encode([np.ones(3)])
    assert isinstance(receiver.decode(payload), Partial)
    for forged in (payload[:-1], payload + b"\0", payload[:5] + b"\x0b\0\0\0" + payload[9:-1]):
        with pytest.raises(FrameError):
            receiver.decode(forged)
