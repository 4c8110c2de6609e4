from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from simnet.build import build
from simnet.live import checkpoint
from simnet.methods.peer import alone
from simnet.privacy.noise import TAU, gamma_type, gaussian, laplace
from simnet.privacy.secret_noise import Absorbed, CipherNoise, secret_streams
from simnet.simulate import peers_of
from tests.worlds import live_world

SECRET = bytes(range(32))


@given(st.integers(0, 2**53 - 1), st.integers(0, 2**52 - 1))
def test_a_uniform_number_keeps_53_bits_however_small_it_is(binade, within):
    """The number is 2^−k(1 + f), k − 1 the leading zeros of the first 53 bits: an exact restatement with integers."""
    noise = CipherNoise(SECRET)
    noise._words = lambda count: np.array([[binade << 11, (within << 12) | 1]], np.uint64)
    found, sign = noise._uniform(1)
    k = 54 - binade.bit_length()
    assert mpmath.mpf(float(found[0])) == mpmath.ldexp(2**52 + within, -52 - k)
    assert sign[0] == 1.0


@given(st.floats(2.0**-55, 0.5))
def test_a_normal_number_is_within_tau_of_the_real_valued_one(tail):
    """Φ⁻¹ in fifty digits, at both ends of what was cut off."""
    with mpmath.workdps(50):
        for exact in (mpmath.mpf(tail), mpmath.mpf(tail) * (1 + mpmath.mpf(2) ** -52)):
            start = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * min(exact, mpmath.mpf("0.5")))
            assert abs(float(special.ndtri(tail)) - start) <= TAU


@given(st.floats(2.0**-54, 1.0, exclude_max=True))
def test_a_laplace_number_is_as_near_as_the_page_says(uniform):
    with mpmath.workdps(50):
        for exact in (mpmath.mpf(uniform), mpmath.mpf(uniform) * (1 + mpmath.mpf(2) ** -52)):
            assert abs(float(np.log(uniform)) - mpmath.log(exact)) <= 5e-15


def test_the_draws_have_the_distributions_that_are_asked_for():
    rng = secret_streams(SECRET).generator("noise", 0)
    assert stats.kstest(gaussian(rng, 2.0, 20_000), stats.norm(scale=2.0).cdf).pvalue > 1e-3
    assert stats.kstest([laplace(rng, 0.5) for _ in range(4000)], stats.laplace(scale=0.5).cdf).pvalue > 1e-3
    norms = [float(np.linalg.norm(gamma_type(rng, 3.0, 7))) for _ in range(4000)]
    assert stats.kstest(norms, stats.gamma(7, scale=1 / 3).cdf).pvalue > 1e-3
    assert stats.kstest(rng.random(20_000), stats.uniform.cdf).pvalue > 1e-3


def test_streams_differ_by_secret_role_and_name_and_begin_again_alike():
    def first(secret, *name):
        return secret_streams(secret).generator(*name).standard_normal(3).tolist()

    one = first(SECRET, "noise", 0)
    assert first(SECRET, "noise", 0) == one
    others = [first(SECRET, "noise", 1), first(SECRET, "svt", 0), first(SECRET[::-1], "noise", 0)]
    assert all(other != one for other in others)


def test_no_number_is_drawn_twice():
    rng = secret_streams(SECRET).generator("noise", 0)
    pieces = [*rng.standard_normal(3), *rng.standard_normal(5)]
    assert pieces == secret_streams(SECRET).generator("noise", 0).standard_normal(8).tolist()


def test_a_draw_that_is_not_noise_is_refused_and_not_taken_from_elsewhere():
    rng = secret_streams(SECRET).generator("noise", 0)
    with pytest.raises(AttributeError):
        rng.integers(3)


@pytest.mark.parametrize("name", ["ipp-admm", "dvp"])
def test_a_restarted_agent_goes_on_with_the_very_next_numbers(name):
    world = build(live_world(algorithm={"name": name, "eta": 0.05}))
    before, after = (peers_of(world, secret_streams(SECRET))[0] for _ in range(2))
    alone(before.propose(1))
    before.settled(accepted=True)
    fixed = {"objective": world.training[0], "plan": world.calibration.plans[0]}

    checkpoint.restore(checkpoint.save({"peer": before}, fixed), {"peer": after}, fixed)

    one, other = (alone(peer.propose(2)).release for peer in (before, after))
    assert (one is None) == (other is None)
    assert one is None or one[0].tobytes() == other[0].tobytes()
    assert after.noise_source.standard_normal(4).tolist() == before.noise_source.standard_normal(4).tolist()


def drawn(*absorbed):
    """Two draws of an agent's noise after it has taken in these values one after another."""
    taken = Absorbed()
    rng = secret_streams(SECRET, taken).generator("noise", 0)
    found = [rng.standard_normal(2).tolist()]
    for value in absorbed:
        taken.add([value])
        found.append(rng.standard_normal(2).tolist())
    return found


def test_a_history_that_is_lived_again_to_the_letter_has_the_same_noise():
    assert drawn(b"one", b"two") == drawn(b"one", b"two")


def test_two_histories_share_their_noise_up_to_where_they_part_and_never_again():
    one, other = drawn(b"one", b"two", b"three"), drawn(b"one", b"2", b"three")

    assert one[:2] == other[:2]
    assert not {tuple(each) for each in one[2:]} & {tuple(each) for each in other[2:]}


def test_an_agent_that_is_put_back_and_hears_something_else_has_other_noise():
    """The state that was restored is a whole checkpoint, the secret and the count of blocks included."""
    world = build(live_world())
    fixed = {"objective": world.training[0], "plan": world.calibration.plans[0]}
    releases = []
    for heard in (b"a model", b"another", b"a model"):
        taken = Absorbed()
        peer = peers_of(world, secret_streams(SECRET, taken))[0]
        if not releases:
            backup = checkpoint.save({"peer": peer, "absorbed": taken}, fixed)
        checkpoint.restore(backup, {"peer": peer, "absorbed": taken}, fixed)
        taken.add([heard])
        releases.append(alone(peer.propose(1)).release[0].tobytes())

    assert releases[0] == releases[2] != releases[1]
