import numpy as np
import pytest

from simnet.errors import FrameError
from simnet.network.codec import CODECS
from simnet.network.payload import Writer
from simnet.streams import Streams

VECTORS = np.random.default_rng(0).normal(size=(4, 7))


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_what_goes_with_a_model_is_computed_from_the_model_as_it_is_decoded(codec):
    writer = Writer(Streams(1), 0, codec)
    given = []

    def accompany(decoded):
        given.append(decoded)
        return (VECTORS[1],)

    payload, sent = writer.model(VECTORS[0], accompany)
    received = writer.decode(payload)
    np.testing.assert_array_equal(received[0], given[0])
    for got, kept in zip(received, sent, strict=True):
        np.testing.assert_array_equal(got, kept)


@pytest.mark.parametrize("codec", ["int8", "top-k"])
def test_neither_company_nor_letters_change_how_models_are_rounded(codec):
    alone, busy = Writer(Streams(1), 0, codec), Writer(Streams(1), 0, codec)
    for model in VECTORS:
        busy.letter(3, (model,))
        with_company, _ = busy.model(model, lambda decoded: (decoded + 1,))
        bare, _ = alone.model(model, lambda decoded: ())
        np.testing.assert_array_equal(busy.decode(with_company)[0], alone.decode(bare)[0])


@pytest.mark.parametrize("codec", ["float32", "float16", "int8", "top-k"])
def test_company_is_sent_whole_and_in_single_precision_at_least(codec):
    _, sent = Writer(Streams(1), 0, codec).model(VECTORS[0], lambda decoded: (VECTORS[1],))
    np.testing.assert_array_equal(sent[1], VECTORS[1].astype(np.float32))


def test_an_answer_tells_what_was_decoded_before():
    writer = Writer(Streams(1), 0, "int8")
    np.testing.assert_array_equal(writer.decode(writer.again((VECTORS[2],)))[0], VECTORS[2].astype(np.float32))


@pytest.mark.parametrize("cut", [1, 4, 5, 20])
def test_a_payload_that_ends_too_early_is_refused(cut):
    payload, _ = Writer(Streams(1), 0, "float64").model(VECTORS[0], lambda decoded: (VECTORS[1],))
    with pytest.raises(FrameError):
        Writer(Streams(1), 0, "float64").decode(payload[:cut])
