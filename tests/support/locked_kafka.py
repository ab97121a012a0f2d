"""A broker that is locked up: its second listener is encrypted and wants a password."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from adapter.localkafka import LocalKafka, free_port
from adapter.localkafka.jars import find_java
from mqk_demo.proxy import Proxy
from tests.support.server_process import HOST

PASSWORD = "of no consequence"
ITERATIONS = 4096
MADE_WITHIN_S = 30.0
MECHANISM = "SCRAM-SHA-512"
USERS = ("qm1", "qm2", "registry", "spark", "reader", "writer", "nobody")
LOCKED = {
    "listener.security.protocol.map": "PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:SASL_SSL",
    "sasl.enabled.mechanisms": MECHANISM,
    f"listener.name.proxied.{MECHANISM.lower()}.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def certificate(folder: Path) -> tuple[dict[str, str], Path]:
    """Make a broker's key: its settings for the broker, and its certificate for clients."""
    store, trusted = folder / "broker.p12", folder / "ca.pem"
    keytool = Path(find_java().path).resolve().with_name("keytool")
    common = ["-alias", "broker", "-storetype", "PKCS12", "-storepass", PASSWORD]
    common += ["-keystore", str(store)]
    made = ["-keyalg", "EC", "-dname", f"CN={HOST}", "-ext", f"san=ip:{HOST}", "-validity", "2"]
    subprocess.run([str(keytool), "-genkeypair", *common, *made], check=True, capture_output=True)
    shown = subprocess.run(
        [str(keytool), "-exportcert", "-rfc", *common], check=True, capture_output=True
    )
    trusted.write_bytes(shown.stdout)
    prefix = "listener.name.proxied.ssl."
    settings = {"keystore.location": str(store), "keystore.password": PASSWORD}
    settings |= {"keystore.type": "PKCS12", "key.password": PASSWORD}
    return {prefix + name: value for name, value in settings.items()}, trusted


@contextmanager
def locked_kafka(settings: dict[str, str]) -> Iterator[LocalKafka]:
    """A broker whose second listener is encrypted, wants a password, and allows nothing."""
    port = free_port()
    with (
        LocalKafka(proxies={1: port}, settings=LOCKED | settings) as kafka,
        Proxy(*kafka.behind_proxy(1), listen_port=port),
    ):
        _make_users(kafka.bootstrap_servers)
        yield kafka


def _make_users(bootstrap_servers: str) -> None:
    """Give each user its password: the cluster keeps what SCRAM needs of it."""
    about = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    made: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(one, about, PASSWORD.encode()) for one in USERS
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in admin.alter_user_scram_credentials(made).values():
        future.result(MADE_WITHIN_S)


def options(user: str, trusted: Path) -> dict[str, str]:
    """The settings of a client, in librdkafka's names."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(trusted),
        "sasl.mechanism": MECHANISM,
        "sasl.username": user,
        "sasl.password": PASSWORD,
    }
