"""Programs of ibmmq with TLS: CipherSpecs and key repositories, and how refusals are reported."""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import ibmmq
import pytest
from ibmmq import CMQC, CMQXC

from adapter import testing
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, reason_of
from tests.support.certificates import Authority, encrypt, secret

CIPHER = "ANY_TLS12_OR_HIGHER"


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    for name in ("MQSSLKEYR", "MQSERVER", "MQCCDTURL", "MQK_TLS_CA", "MQKEYRPWD"):
        monkeypatch.delenv(name, raising=False)
    return Authority(tmp_path)


@pytest.fixture
def manager(authority: Authority) -> Iterator[TestQueueManager]:
    tls = authority.server(client_ca=str(authority.path))
    with testing.queue_manager("QM1", tls=tls) as one:
        with one.connect() as qm:
            qm.define_queue("Q")
        yield one


def conname(address: str) -> str:
    host, port = address.split(":")
    return f"{host}({port})"


def user(address: str, repository: str = "", cipher: str = CIPHER) -> str:
    """The user in a message that a program puts."""
    qmgr = ibmmq.QueueManager(None)
    cd = ibmmq.CD(ChannelName=CHANNEL.encode(), ConnectionName=conname(address).encode())
    cd.TransportType, cd.ChannelType = CMQXC.MQXPT_TCP, CMQXC.MQCHT_CLNTCONN
    cd.SSLCipherSpec = cipher.encode()
    options = {"sco": ibmmq.SCO(KeyRepository=repository.encode())} if repository else {}
    qmgr.connect_with_options("QM1", cd=cd, **options)
    try:
        md = ibmmq.MD()
        ibmmq.Queue(qmgr, "Q").put(b"x")
        assert ibmmq.Queue(qmgr, "Q").get(None, md) == b"x"
    finally:
        qmgr.disconnect()
    return str(md.UserIdentifier.decode()).rstrip()


def refusal(address: str, repository: str = "", cipher: str = CIPHER) -> int:
    with pytest.raises(ibmmq.MQMIError) as refused:
        user(address, repository, cipher)
    return reason_of(refused)


def repository(authority: Authority, folder: Path) -> Path:
    """A file with the authority, and a certificate and its key."""
    certificate, key = authority.issue("client", "c.test", common_name="payroll")
    path = folder / "key.pem"
    path.write_bytes(certificate.read_bytes() + key.read_bytes() + authority.path.read_bytes())
    return path


def test_a_program_is_who_its_certificate_says(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repository(authority, tmp_path)
    assert user(manager.tls_address, str(path)) == "payroll"
    stem = str(path.with_suffix(""))
    assert user(manager.tls_address, stem, "TLS_AES_256_GCM_SHA384") == "payroll"
    monkeypatch.setenv("MQSSLKEYR", stem)
    assert user(manager.tls_address) == "payroll"
    assert user(manager.tls_address, str(authority.path)) != "payroll"
    monkeypatch.delenv("MQSSLKEYR")
    monkeypatch.setenv("MQK_TLS_CA", str(authority.path))
    assert user(manager.tls_address) != "payroll"
    assert user(manager.tls_address, cipher="") != "payroll"


def test_a_table_says_the_cipher_specification(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = manager.tls_address.split(":")
    channel = {
        "name": "A",
        "type": "clientConnection",
        "clientConnection": {
            "connection": [{"host": host, "port": int(port)}],
            "queueManager": "QM1",
        },
        "transmissionSecurity": {"cipherSpecification": CIPHER},
    }
    path = tmp_path / "ccdt.json"
    path.write_text(json.dumps({"channel": [channel]}))
    monkeypatch.setenv("MQCCDTURL", f"file://{path}")
    monkeypatch.setenv("MQSSLKEYR", str(authority.path))
    qmgr = ibmmq.QueueManager("QM1")
    assert qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).rstrip() == b"QM1"
    qmgr.disconnect()


def test_what_cannot_be_had_is_refused(
    manager: TestQueueManager, authority: Authority, tmp_path: Path
) -> None:
    tls, trusted = manager.tls_address, str(authority.path)
    assert refusal(manager.address, trusted) == CMQC.MQRC_SSL_INITIALIZATION_ERROR
    other = tmp_path / "other"
    other.mkdir()
    assert refusal(tls, str(Authority(other).path)) == CMQC.MQRC_SSL_INITIALIZATION_ERROR
    assert refusal(tls) == CMQC.MQRC_SSL_INITIALIZATION_ERROR
    assert refusal(tls, str(tmp_path / "none")) == CMQC.MQRC_KEY_REPOSITORY_ERROR
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    assert refusal(tls, str(broken)) == CMQC.MQRC_KEY_REPOSITORY_ERROR
    assert refusal(tls, trusted, "RC4_MD5_US") == CMQC.MQRC_UNSUPPORTED_CIPHER_SUITE


def test_a_program_that_reads_nothing_does_not_keep_a_queue_manager_from_ending(
    authority: Authority, tmp_path: Path
) -> None:
    with testing.queue_manager("QM1", tls=authority.server()) as manager:
        qmgr = ibmmq.QueueManager(None)
        cd = ibmmq.CD(ChannelName=CHANNEL.encode())
        cd.ConnectionName = conname(manager.tls_address).encode()
        cd.TransportType, cd.ChannelType = CMQXC.MQXPT_TCP, CMQXC.MQCHT_CLNTCONN
        cd.SSLCipherSpec = CIPHER.encode()
        sco = ibmmq.SCO(KeyRepository=str(authority.path).encode())
        qmgr.connect_with_options("QM1", cd=cd, sco=sco)
        queue = ibmmq.Queue(qmgr, "SYSTEM.DEFAULT.LOCAL.QUEUE")
        queue.put(b"x")
        began_s = time.monotonic()
        manager.stop()
        assert time.monotonic() - began_s < 20
    qmgr.disconnect()


def labelled(authority: Authority, folder: Path) -> Path:
    """A repository of two certificates, each with its label, as `openssl pkcs12` writes them."""
    text = ""
    for label, user_name in (("first", "sales"), ("second", "payroll")):
        certificate, key = authority.issue(label, "c.test", common_name=user_name)
        for one in (certificate, key):
            text += f"Bag Attributes\n    friendlyName: {label}\n{one.read_text()}"
    path = folder / "labelled.pem"
    path.write_text(text + "Bag Attributes\n    friendlyName: ca\n" + authority.path.read_text())
    return path


def shown(address: str, path: Path, in_cd: str = "", in_sco: str = "", password: str = "") -> str:
    """The user of a program whose channel, or whose MQSCO, has a label."""
    qmgr = ibmmq.QueueManager(None)
    cd = ibmmq.CD(ChannelName=CHANNEL.encode(), ConnectionName=conname(address).encode())
    cd.TransportType, cd.ChannelType = CMQXC.MQXPT_TCP, CMQXC.MQCHT_CLNTCONN
    cd.SSLCipherSpec, cd.CertificateLabel = CIPHER.encode(), in_cd.encode()
    sco = ibmmq.SCO(KeyRepository=str(path).encode(), CertificateLabel=in_sco.encode())
    if password:
        sco.Version, sco.KeyRepoPassword = CMQC.MQSCO_VERSION_6, password.encode()
    qmgr.connect_with_options("QM1", cd=cd, sco=sco)
    try:
        md = ibmmq.MD()
        ibmmq.Queue(qmgr, "Q").put(b"x")
        ibmmq.Queue(qmgr, "Q").get(None, md)
    finally:
        qmgr.disconnect()
    return str(md.UserIdentifier.decode()).rstrip()


def test_a_label_says_which_certificate_is_shown(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, address = labelled(authority, tmp_path), manager.tls_address
    assert shown(address, path) == "sales"
    assert shown(address, path, in_sco="second") == "payroll"
    assert shown(address, path, in_cd="second", in_sco="first") == "payroll"
    monkeypatch.setenv("MQCERTLABL", "second")
    assert shown(address, path) == "payroll"
    assert shown(address, path, in_sco="first") == "sales"
    certificate, key = authority.issue("pair", "c.test", common_name="beside")
    (tmp_path / "third.pem").write_bytes(certificate.read_bytes() + key.read_bytes())
    assert shown(address, path, in_sco="third") == "beside"
    for wrong in ("none", "ca", "SECOND"):
        with pytest.raises(ibmmq.MQMIError) as refused:
            shown(address, path, in_sco=wrong)
        assert reason_of(refused) == CMQC.MQRC_KEY_REPOSITORY_ERROR


def test_a_key_store_is_a_repository_with_its_password(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = manager.tls_address
    store = authority.store("key", "päss", common_name="payroll", label="mine")

    def refused(**given: str) -> bool:
        with pytest.raises(ibmmq.MQMIError) as wrong:
            shown(address, store, **given)
        return bool(reason_of(wrong) == CMQC.MQRC_KEY_REPOSITORY_ERROR)

    assert refused()
    assert shown(address, store, password="päss") == "payroll"
    monkeypatch.setenv("MQKEYRPWD", "päss")
    assert shown(address, store.with_suffix(""), in_sco="mine") == "payroll"
    assert refused(password="wrong")
    assert refused(in_sco="other")
    monkeypatch.setenv("MQKEYRPWD", "<MQI>!1!abcdef")
    assert refused()
    monkeypatch.delenv("MQKEYRPWD")
    monkeypatch.setenv("MQK_TLS_KEY_PASSWORD_FILE", str(secret(tmp_path / "p", "päss\n")))
    assert shown(address, store) == "payroll"


def test_an_encrypted_key_in_a_repository_is_read_with_its_password(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = authority.issue("pair", "c.test", common_name="payroll")
    encrypt(key, "secret")
    path = tmp_path / "repository.pem"
    own = f"friendlyName: mine\n{certificate.read_text()}{key.read_text()}"
    path.write_text(own + authority.path.read_text())
    monkeypatch.setenv("MQKEYRPWD", "secret")
    assert shown(manager.tls_address, path) == "payroll"
    assert shown(manager.tls_address, path, in_cd="mine") == "payroll"


def test_a_kdb_is_refused_with_what_to_do(
    manager: TestQueueManager,
    authority: Authority,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    del authority
    (tmp_path / "key.kdb").write_bytes(b"x")
    for name in ("key", "key.kdb"):
        assert refusal(manager.tls_address, str(tmp_path / name)) == CMQC.MQRC_KEY_REPOSITORY_ERROR
        assert "-new_format pkcs12" in caplog.text
        caplog.clear()


def test_a_table_says_the_label(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = manager.tls_address.split(":")
    path = tmp_path / "ccdt.json"
    connection = {"connection": [{"host": host, "port": int(port)}], "queueManager": "QM1"}
    security = {"cipherSpecification": "ANY_TLS13", "certificateLabel": "second"}
    table = {"name": "A", "type": "clientConnection", "clientConnection": connection}
    path.write_text(json.dumps({"channel": [table | {"transmissionSecurity": security}]}))
    monkeypatch.setenv("MQCCDTURL", f"file://{path}")
    monkeypatch.setenv("MQSSLKEYR", str(labelled(authority, tmp_path).with_suffix("")))
    qmgr = ibmmq.QueueManager("QM1")
    with manager.connect() as qm:
        assert "payroll" in {one.user for one in qm.connections()}
    qmgr.disconnect()


def test_the_key_of_a_label_stays_in_no_file(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    assert shown(manager.tls_address, labelled(authority, tmp_path), in_cd="second") == "payroll"
    assert list(made.iterdir()) == []


@pytest.mark.parametrize(
    "cipher",
    [
        "TLS_RSA_WITH_AES_128_CBC_SHA256",  # what IBM's samples of patterns are configured with
        "ANY_TLS12",
        "TLS_AES_128_GCM_SHA256",
        "ECDHE_RSA_AES_256_GCM_SHA384",
    ],
)
def test_settings_of_published_samples_connect(
    manager: TestQueueManager, authority: Authority, tmp_path: Path, cipher: str
) -> None:
    """They have a cipher, and a repository without its ending, beside user and password."""
    path = repository(authority, tmp_path)
    assert user(manager.tls_address, str(path.with_suffix("")), cipher) == "payroll"


def by_channel(address: str, path: Path, cipher: str = CIPHER) -> str:
    """Whether a program may connect by the channel SECURED."""
    qmgr = ibmmq.QueueManager(None)
    cd = ibmmq.CD(ChannelName=b"SECURED", ConnectionName=conname(address).encode())
    cd.TransportType, cd.ChannelType = CMQXC.MQXPT_TCP, CMQXC.MQCHT_CLNTCONN
    cd.SSLCipherSpec = cipher.encode()
    sco = ibmmq.SCO(KeyRepository=str(path).encode())
    try:
        qmgr.connect_with_options("QM1", cd=cd, sco=sco)
    except ibmmq.MQMIError as error:
        return "refused" if error.reason == CMQC.MQRC_NOT_AUTHORIZED else str(error)
    qmgr.disconnect()
    return "let in"


@pytest.mark.parametrize(
    ("definition", "in_clear", "without", "with_one"),
    [
        ("", "let in", "let in", "let in"),
        ("SSLCIPH(ANY_TLS12_OR_HIGHER)", "refused", "refused", "let in"),
        ("SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(OPTIONAL)", "refused", "let in", "let in"),
        ("SSLCIPH(ANY_TLS13) SSLPEER('CN=pay*')", "refused", "refused", "let in"),
        ("SSLCIPH(ANY_TLS13) SSLPEER('CN=sales')", "refused", "refused", "refused"),
        ("SSLPEER('CN=sales')", "let in", "let in", "let in"),
    ],
)
def test_a_channel_demands_tls_and_certificates(
    manager: TestQueueManager,
    authority: Authority,
    tmp_path: Path,
    definition: str,
    in_clear: str,
    without: str,
    with_one: str,
) -> None:
    said = manager.mqsc(f"DEFINE CHANNEL(SECURED) CHLTYPE(SVRCONN) {definition}")
    assert "AMQ8014I" in said
    path = repository(authority, tmp_path)
    assert by_channel(manager.address, authority.path, cipher="") == in_clear
    assert by_channel(manager.tls_address, authority.path) == without
    assert by_channel(manager.tls_address, path) == with_one
