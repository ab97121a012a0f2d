"""broker_use_ssl of Celery: each of its forms has the meaning that Celery's users know."""

import ssl
from pathlib import Path

import kombu
import pytest

from adapter import testing
from adapter.errors import InvalidOption
from adapter.kombu.tls import tls_of
from tests.support.certificates import Authority


def test_forms_of_connect_stay() -> None:
    context = ssl.create_default_context()
    for form in (True, False, None, context, Path("/ca.pem")):
        assert tls_of(form) is form


@pytest.mark.parametrize("prefix", ["", "ssl_"])
@pytest.mark.parametrize("required", [ssl.CERT_REQUIRED, "CERT_REQUIRED", "required", None])
def test_a_worker_shows_its_certificate(tmp_path: Path, prefix: str, required: object) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("worker", "w.test", common_name="payroll")
    named = {"ca_certs": authority.path, "certfile": certificate, "keyfile": str(key)}
    setting = {f"{prefix}{name}": value for name, value in named.items()}
    if required is not None:
        setting[f"{prefix}cert_reqs"] = required
    tls = authority.server(client_ca=str(authority.path))
    with testing.queue_manager("QM1", tls=tls) as manager, manager.connect() as qm:
        qm.define_queue("Q")
        client = kombu.Connection(f"mqk://{manager.tls_address}", ssl=setting)
        with client.channel() as channel:
            channel.connection.link.qm.put("Q", b"x")
        client.release()
        got = qm.get("Q")
        assert got is not None
        assert got.user == "payroll"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"cert_reqs": ssl.CERT_NONE}, "always checked; leave cert_reqs out"),
        ({"ssl_cert_reqs": []}, "always checked"),
        ({"ciphers": "ALL"}, "'ciphers' is not known: name files with ca_certs, certfile"),
        ({3: "x"}, "3 is not known"),
        ({"ca_certs": 3}, "ca_certs is 3: name a file"),
        ({"ca_certs": "/no/such.pem"}, "cannot be used"),
    ],
)
def test_what_is_not_understood_is_refused(setting: dict[object, object], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        tls_of(setting)
