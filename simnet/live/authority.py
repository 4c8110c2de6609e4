"""A certificate authority that signs and is forgotten (X.509, RFC 5280; Ed25519, RFC 8410)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from simnet.errors import LiveError

_SKEW = timedelta(days=1)
"""Certificates are valid from a day before they are made: clocks of other hosts may be slow."""


class Authority:
    """A certificate authority that lives as long as this object."""

    def __init__(self, days: int) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._start = datetime.now(UTC) - _SKEW
        self._end = self._start + _SKEW + timedelta(days=days)
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "simnet deployment")])
        constraint = x509.BasicConstraints(ca=True, path_length=0)
        builder = self._builder(self._name, self._key, constraint, x509.KeyUsage(**_usage("key_cert_sign")))
        self._certificate = builder.sign(self._key, None)

    @property
    def public(self) -> bytes:
        """The authority's certificate, as PEM."""
        return _pem(self._certificate)

    def issue(self, name: str, host: str | None) -> tuple[bytes, bytes]:
        """A certificate for a name and its new key, as PEM."""
        key = Ed25519PrivateKey.generate()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names: list[x509.GeneralName] = [x509.DNSName(name), *(_host_names(host) if host else ())]
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            self._builder(
                subject,
                key,
                x509.BasicConstraints(ca=False, path_length=None),
                x509.KeyUsage(**_usage("digital_signature")),
            )
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, None)
        )
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return _pem(certificate), private

    def _builder(
        self, subject: x509.Name, key: Ed25519PrivateKey, constraint: x509.BasicConstraints, usage: x509.KeyUsage
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._start)
            .not_valid_after(self._end)
            .add_extension(constraint, critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


def _host_names(host: str) -> list[x509.GeneralName]:
    if host.endswith(".simnet"):
        raise LiveError(f"host {host!r}: names that end in .simnet are agents' own, give the host's name or address")
    try:
        return [x509.IPAddress(ip_address(host))]
    except ValueError:
        return [x509.DNSName(host)]


_USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _usage(only: str) -> dict[str, bool]:
    return {use: use == only for use in _USES}


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
