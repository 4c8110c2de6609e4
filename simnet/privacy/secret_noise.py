"""Noise that nobody else can draw: from a cipher, under a key that only its owner knows.

A live agent has a key that the operating system drew for it. A simulation has one with `privacy.noise` key or fresh.

Each number takes one block of AES-256 in counter mode, 128 bits: a binade by its first 53 bits (each half as likely as
the one above it) and 52 bits within it. So a uniform number U in (0, 1) is a real-valued one cut off below its leading
53 bits however small it is, but for a probability of 2⁻⁵⁴. Everything else is a function of such numbers:

    standard normal   ±Φ⁻¹(U/2). To cut U off moves it by at most 2⁻⁵² (U/2)/φ(z) < 2⁻⁵¹; `ndtri` errs by at most
                      7.3e-16 |z| (Cephes; the tests measure it), and |z| < 8.4. So it is within τ = 2⁻⁴⁷ of a
                      real-valued draw (`TAU`).
    Laplace           ±log(U)
    gamma             the sum of −log(U), as many as its shape, which is a dimension

The state is a key and a count of blocks, so a checkpoint holds all of it and a restarted agent goes on exactly. A draw
that is not here does not exist: it raises, and nothing is drawn from a weaker source.

An agent that is put back to an earlier state lives some rounds again, perhaps with other values of its neighbours. Two
releases with one noise would differ by what the data do. So the noise of a live agent depends on everything that it has
taken in from its neighbours (`Absorbed`): a history that is lived again to the letter has the same noise and the same
releases, and any other has independent noise.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import scipy  # imports its parts when they are first used
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from simnet.privacy.noise_key import noise_root
from simnet.streams import Streams
from simnet.vectors import Vector


class Absorbed:
    """A hash over all that an agent has taken in."""

    def __init__(self) -> None:
        self.digest = b""

    def add(self, parts: Iterable[bytes]) -> None:
        """What came next."""
        self.digest = noise_root(self.digest, parts)


class CipherNoise:
    """The draws of `np.random.Generator` that privacy noise is made of."""

    def __init__(self, key: bytes, absorbed: Absorbed | None = None) -> None:
        self._key = key
        self._absorbed = absorbed
        self._block = 0

    def random(self, size: int | None = None) -> Vector | float:
        """Uniform in (0, 1)."""
        found, _ = self._uniform(1 if size is None else size)
        return float(found[0]) if size is None else found

    def standard_normal(self, size: int) -> Vector:
        """Numbers from N(0, 1)."""
        found, sign = self._uniform(size)
        found *= 0.5
        normal: Vector = scipy.special.ndtri(found)
        return normal * sign

    def laplace(self, loc: float, scale: float) -> float:
        """A number with density exp(−|z − loc|/scale) / (2 scale)."""
        found, sign = self._uniform(1)
        return loc + scale * float(sign[0] * -np.log(found[0]))

    def gamma(self, shape: int, scale: float) -> float:
        """A number from Gamma(shape, scale); the shape is a whole number."""
        return scale * -float(np.log(self._uniform(shape)[0]).sum())

    def _uniform(self, count: int) -> tuple[Vector, Vector]:
        """Numbers in (0, 1), and as many signs."""
        words = self._words(count)
        _, binade = np.frexp((words[:, 0] >> 11).astype(np.float64))
        within = 1.0 + (words[:, 1] >> 12).astype(np.float64) * 2.0**-52
        return np.ldexp(within, binade - 54), np.where(words[:, 1] & 1, 1.0, -1.0)

    def _words(self, count: int) -> npt.NDArray[np.uint64]:
        """The next so many blocks, two words each."""
        counter = modes.CTR(self._block.to_bytes(16, "big"))
        self._block += count
        key = self._key if self._absorbed is None else hmac.digest(self._key, self._absorbed.digest, "sha256")
        stream = Cipher(algorithms.AES(key), counter).encryptor().update(bytes(16 * count))
        return np.frombuffer(stream, "<u8").reshape(count, 2)


@dataclass(frozen=True)
class SecretStreams(Streams):
    """Streams of a seed, but for the roles of `SECRET`: these come from a secret of at least 256 bits."""

    secret: bytes = b""
    absorbed: Absorbed | None = None

    def generator(self, role: str, name: object = "") -> np.random.Generator:
        if not self.secret_role(role):
            return super().generator(role, name)
        key = hmac.digest(self.secret, f"simnet/{role}/{name}".encode(), "sha256")
        # Whoever draws anything else than noise gets an AttributeError.
        return cast(np.random.Generator, CipherNoise(key, self.absorbed))


def secret_streams(secret: bytes, absorbed: Absorbed | None = None) -> Streams:
    """What takes the place of a scenario's streams for the noise of an agent."""
    return SecretStreams(0, secret=secret, absorbed=absorbed)
