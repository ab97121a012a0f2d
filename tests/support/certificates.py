"""Certificates for tests: an authority, and what it has signed, in files."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from adapter.connection.channel.tls import tls_context
from adapter.server.listen.tls import TlsSettings

LONG_AGO = datetime.now(UTC) - timedelta(days=30)


class Authority:
    """An authority whose certificates are in a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._ca = trustme.CA()
        self._folder = folder
        self.path = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(self.path)

    def issue(
        self,
        file: str,
        *names: str,
        common_name: str | None = None,
        expired: bool = False,
    ) -> tuple[Path, Path]:
        """Sign a certificate; returns its file and that of its key."""
        until = LONG_AGO if expired else None
        made = self._ca.issue_cert(*names, common_name=common_name, not_after=until)
        certificate, key = self._folder / f"{file}.pem", self._folder / f"{file}.key"
        certificate.write_bytes(b"".join(one.bytes() for one in made.cert_chain_pems))
        key.touch(0o600)
        key.write_bytes(made.private_key_pem.bytes())
        return certificate, key

    def store(
        self,
        file: str,
        password: str,
        *names: str,
        common_name: str | None = None,
        label: str | None = None,
    ) -> Path:
        """Sign a certificate; returns a file of PKCS#12 with its key and this authority."""
        made = self._ca.issue_cert(*(names or ("c.test",)), common_name=common_name)
        own = [x509.load_pem_x509_certificate(one.bytes()) for one in made.cert_chain_pems]
        key = load_pem_private_key(made.private_key_pem.bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        how = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        authority = x509.load_pem_x509_certificate(self.path.read_bytes())
        path = self._folder / f"{file}.p12"
        path.touch(0o600)
        name = None if label is None else label.encode()
        path.write_bytes(serialize_key_and_certificates(name, key, own[0], [authority], how))
        return path

    def server(self, *names: str, expired: bool = False, **settings: str) -> TlsSettings:
        """Settings of a queue manager that listens with a certificate for these names."""
        certificate, key = self.issue("server", *(names or ("127.0.0.1",)), expired=expired)
        files = {"certificate": str(certificate), "key": str(key)}
        return TlsSettings(**{"host": "127.0.0.1"} | files | settings)  # type: ignore[arg-type]

    def client(
        self, common_name: str | None = None, *names: str, expired: bool = False
    ) -> ssl.SSLContext:
        """The context of a client that trusts this authority; it shows a certificate of it."""
        names = names or ("client.test",)
        files = self.issue("client", *names, common_name=common_name, expired=expired)
        return tls_context(self.path, *files)

    def revoke(self, *certificates: Path) -> bytes:
        """Return a list of revocations with these certificates, in PEM."""
        own = x509.load_pem_x509_certificate(self.path.read_bytes())
        made = x509.CertificateRevocationListBuilder().issuer_name(own.subject)
        now = datetime.now(UTC)
        made = made.last_update(now - timedelta(days=1)).next_update(now + timedelta(days=1))
        for path in certificates:
            number = x509.load_pem_x509_certificate(path.read_bytes()).serial_number
            revoked = x509.RevokedCertificateBuilder().serial_number(number)
            made = made.add_revoked_certificate(revoked.revocation_date(now).build())
        key = load_pem_private_key(self._ca.private_key_pem.bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return made.sign(key, SHA256()).public_bytes(Encoding.PEM)


def encrypt(key: Path, password: str) -> None:
    """Encrypt a private key in its file."""
    plain = load_pem_private_key(key.read_bytes(), None)
    how = BestAvailableEncryption(password.encode())
    key.write_bytes(plain.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))


def secret(path: Path, text: str) -> Path:
    """Write a file that is its owner's alone."""
    path.touch(0o600)
    path.write_text(text)
    return path
