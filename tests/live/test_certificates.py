"""Certificates: made, kept to oneself, believed."""

from __future__ import annotations

import os
import ssl
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import LiveError
from simnet.live import certificates
from simnet.live.certificates import agent_of, name_of
from tests.live.party import NOWHERE, QUICK, Party, run, running


def test_a_deployment_is_a_public_authority_and_two_files_an_agent(deployment: Path) -> None:
    assert sorted(path.name for path in deployment.iterdir()) == [
        *(f"agent-{agent}.{kind}" for agent in range(4) for kind in ("key", "pem")),
        "ca.pem",
    ]


def test_private_keys_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        certificates.init(tmp_path / "loose", [0, 1])
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "loose").iterdir()}
    assert modes == {
        "agent-0.key": 0o600,
        "agent-1.key": 0o600,
        "agent-0.pem": 0o644,
        "agent-1.pem": 0o644,
        "ca.pem": 0o644,
    }


def test_no_key_of_the_authority_is_anywhere(deployment: Path) -> None:
    authority = x509.load_pem_x509_certificate((deployment / "ca.pem").read_bytes())
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    for key in deployment.glob("*.key"):
        assert load_pem_private_key(key.read_bytes(), None).public_key() != authority.public_key()


@pytest.mark.parametrize("taken", ["ca.pem", "agent-1.key", "agent-1.pem"])
def test_nothing_is_overwritten_and_nothing_made_beside_it(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(LiveError, match=rf"{taken} exists: certificates are never overwritten"):
        certificates.init(tmp_path, [0, 1])
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_a_link_to_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "agent-0.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LiveError, match=r"agent-0\.key exists"):
        certificates.init(tmp_path, [0])
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644])
def test_a_key_that_others_can_use_is_not_loaded(tmp_path: Path, mode: int) -> None:
    certificates.init(tmp_path, [0])
    (tmp_path / "agent-0.key").chmod(mode)
    with pytest.raises(LiveError, match=rf"agent-0\.key has mode {mode:04o}, others can use it: .* mode 0600"):
        certificates.load(tmp_path, 0)


@pytest.mark.parametrize("missing", ["ca.pem", "agent-0.pem", "agent-0.key"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    certificates.init(tmp_path, [0])
    (tmp_path / missing).unlink()
    with pytest.raises(LiveError, match=rf"{missing} is missing: agent 0 needs it, `simnet live init` makes it"):
        certificates.load(tmp_path, 0)


def test_a_key_of_another_certificate_is_told_in_a_sentence(tmp_path: Path) -> None:
    certificates.init(tmp_path, [0, 1])
    (tmp_path / "agent-0.key").write_bytes((tmp_path / "agent-1.key").read_bytes())
    with pytest.raises(LiveError, match=r"agent-0\.pem and .*agent-0\.key do not make a certificate with its key"):
        certificates.load(tmp_path, 0).server()


def test_only_tls_1_3_with_a_certificate_will_do(deployment: Path) -> None:
    mine = certificates.load(deployment, 0)
    for context in (mine.server(), mine.client()):
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
        assert context.verify_mode is ssl.CERT_REQUIRED
    assert mine.client().check_hostname
    assert mine.server().num_tickets == 0


def test_the_certificate_names_the_agent_and_its_host_if_told(tmp_path: Path) -> None:
    certificates.init(tmp_path, [0, 1, 2], hosts={0: "192.0.2.7", 1: "node.example.org"})
    names = [_names(tmp_path / f"agent-{agent}.pem") for agent in range(3)]
    assert names == [
        ["agent-0.simnet", "192.0.2.7"],
        ["agent-1.simnet", "node.example.org"],
        ["agent-2.simnet"],
    ]
    with pytest.raises(LiveError, match=r"host 'agent-0\.simnet': names that end in \.simnet are agents' own"):
        certificates.init(tmp_path / "forged", [1], hosts={1: "agent-0.simnet"})


def test_certificates_can_sign_nothing(deployment: Path) -> None:
    certificate = x509.load_pem_x509_certificate((deployment / "agent-0.pem").read_bytes())
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert not constraints.value.ca
    assert not certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_an_expired_certificate_is_a_strangers(tmp_path: Path) -> None:
    """A certificate of no days ended when it was made."""
    certificates.init(tmp_path, [0, 1], days=0)

    async def story() -> None:
        left, right = Party(tmp_path, 0, {1: NOWHERE}, limits=QUICK), Party(tmp_path, 1, {0: NOWHERE}, limits=QUICK)
        async with running(left, right):
            left.send(1, 1)
            await left.refuses("stranger")
            assert right.got == []

    run(story)


@given(st.integers(0, 2**32 - 1))
def test_a_name_is_read_back(agent: int) -> None:
    assert agent_of({"subjectAltName": (("DNS", name_of(agent)), ("IP Address", "192.0.2.1"))}) == agent


@pytest.mark.parametrize(
    "names",
    [
        (),
        (("DNS", "agent-01.simnet"),),
        (("DNS", "agent-1.simnet.example.org"),),
        (("DNS", "xagent-1.simnet"),),
        (("DNS", "agent-1.simnet\n"),),
        (("DNS", "agent-١.simnet"),),
        (("DNS", "*.simnet"),),
        (("IP Address", "agent-1.simnet"),),
        (("DNS", "agent-1.simnet"), ("DNS", "agent-2.simnet")),
    ],
)
def test_a_certificate_that_names_nobody_or_two_is_nobodys(names: tuple[tuple[str, str], ...]) -> None:
    assert agent_of({"subjectAltName": names}) is None
    assert agent_of({}) is None


def test_the_command_line_does_not_wait_for_cryptography() -> None:
    code = "import sys, simnet.live.channel, simnet.live.certificates; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _names(path: Path) -> list[str]:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return [str(name.value) for name in extension.value]
