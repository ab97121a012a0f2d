"""Certificates and keys in files: PEM with a password, PKCS#12, and what is wrong with them."""

import ssl
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)

from adapter.connection.channel.tls import context_by, tls_context
from adapter.errors import InvalidOption
from adapter.host import certificates
from adapter.host.certificates import Password
from tests.support.certificates import Authority, encrypt, secret

PASSWORD = "pässwörd with blanks "
ENCRYPTION = BestAvailableEncryption(PASSWORD.encode())


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def said(call: Callable[[], object]) -> str:
    with pytest.raises((OSError, ValueError)) as wrong:
        call()
    return certificates.said_of(wrong.value)


def load(path: Path, key: Path | None = None, password: Password | None = None) -> None:
    certificates.load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), path, key, password)


def test_an_encrypted_key_is_read_with_its_password(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("own", "own.test")
    encrypt(pair[1], PASSWORD)
    file = secret(tmp_path / "password", f"{PASSWORD}\r\nanother line\n")
    given: tuple[Password, ...] = (PASSWORD, file, lambda: PASSWORD)
    for password in given:
        load(*pair, password)
    assert said(lambda: load(*pair)) == "the private key is encrypted: give its password too"
    assert said(lambda: load(*pair, "wrong")) == "the password is not that of the private key"
    assert said(lambda: load(*pair, "")) == "the password is empty"
    number: Any = lambda: 3  # noqa: E731
    assert "not of the type int" in said(lambda: load(*pair, number))


def test_a_password_is_in_a_file_of_its_owner_alone(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("own", "own.test")
    encrypt(pair[1], PASSWORD)
    file = secret(tmp_path / "password", PASSWORD)
    file.chmod(0o640)
    assert f"chmod 600 {file}" in said(lambda: load(*pair, file))
    assert "No such file" in said(lambda: load(*pair, tmp_path / "none"))
    secret(tmp_path / "empty", "\n")
    assert said(lambda: load(*pair, tmp_path / "empty")) == "the password is empty"
    long = secret(tmp_path / "long", "x" * 2000)
    assert "more than 1024 bytes" in said(lambda: load(*pair, long))


def test_a_key_store_is_read_and_its_key_stays_in_no_file(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    written: list[bytes] = []
    unlink = Path.unlink

    def noted(self: Path) -> None:
        written.append(self.read_bytes())
        assert self.stat().st_mode & 0o777 == 0o600
        unlink(self)

    monkeypatch.setattr(Path, "unlink", noted)
    for password in (PASSWORD, ""):
        store = authority.store("own", password, "own.test")
        load(store, None, password or None)
    assert list(made.iterdir()) == []
    assert all(b"BEGIN ENCRYPTED PRIVATE KEY" in one for one in written)
    assert len(written) == 2


def test_what_is_wrong_with_a_key_store_is_said(authority: Authority, tmp_path: Path) -> None:
    store = authority.store("own", PASSWORD, "own.test")
    _, key = authority.issue("other", "own.test")
    broken = tmp_path / "broken.p12"
    broken.write_bytes(store.read_bytes()[:100])
    assert said(lambda: load(store)) == "it needs a password, or it is no PKCS#12"
    for wrong in (store, broken):
        text = said(lambda wrong=wrong: load(wrong, None, "other"))  # type: ignore[misc]
        assert text == "the password is not its own, or it is no PKCS#12"
    assert "name no other one" in said(lambda: load(store, key, PASSWORD))
    assert "name this file as the certificate" in said(lambda: load(authority.path, store))
    bare = tmp_path / "bare.p12"
    own = x509.load_pem_x509_certificate(authority.path.read_bytes())
    bare.write_bytes(
        pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(own, b"ca")], ENCRYPTION)
    )
    assert (
        said(lambda: load(bare, None, PASSWORD))
        == "there is no certificate with its private key in it"
    )
    long = tmp_path / "long.p12"
    long.write_bytes(b"\x30" + b"x" * certificates.STORE_BYTES_MAX)
    assert "more than 1048576 bytes" in said(lambda: load(long, None, PASSWORD))


def test_without_the_package_a_key_store_says_which_one(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = authority.store("own", PASSWORD, "own.test")
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert "pip install 'mqk[pkcs12]'" in said(lambda: load(store, None, PASSWORD))


def test_a_chain_is_shown_without_its_root(authority: Authority, tmp_path: Path) -> None:
    import trustme

    root = trustme.CA()
    middle = root.create_child_ca()
    made = middle.issue_cert("own.test")
    stranger = trustme.CA()
    pems = [made.cert_chain_pems[0], middle.cert_pem, root.cert_pem, stranger.cert_pem]
    own, *others = (x509.load_pem_x509_certificate(one.bytes()) for one in pems)
    key: Any = load_pem_private_key(made.private_key_pem.bytes(), None)
    content = pkcs12.serialize_key_and_certificates(
        None,
        key,
        own,
        reversed(others),
        ENCRYPTION,
    )
    path = tmp_path / "chain.p12"
    path.write_bytes(content)
    store = certificates.read_store(path, PASSWORD)
    assert list(store._chain()) == [own, others[0]]
    context = ssl.create_default_context(cadata=store.authorities())
    assert len(context.get_ca_certs()) == 3, "those of authorities"


def test_a_client_has_it_from_its_arguments_or_the_environment(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = authority.store("own", PASSWORD, "own.test")
    tls_context(authority.path, store, password=PASSWORD)
    with pytest.raises(InvalidOption, match=r"own\.p12.*it needs a password"):
        tls_context(authority.path, store)
    monkeypatch.setenv("MQK_TLS_CA", str(authority.path))
    monkeypatch.setenv("MQK_TLS_CERT", str(store))
    monkeypatch.setenv("MQK_TLS_KEY_PASSWORD_FILE", str(secret(tmp_path / "p", PASSWORD + "\n")))
    assert context_by(None) is not None
    monkeypatch.setenv("MQK_TLS_KEY_PASSWORD", "wrong")
    with pytest.raises(InvalidOption, match="not its own") as wrong:
        context_by(None)
    assert PASSWORD not in str(wrong.value)
    assert "wrong" not in str(wrong.value)
