"""Secrets that a queue manager is given come out nowhere: they are planted, and looked for.

Everything is driven, failures too, on a broker that wants a password. Looked through are the
records of all topics, the log at its most talkative, metrics, figures, DISPLAY, what commands
print, the texts of exceptions, and the arguments and environment of the processes.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import Consumer, TopicPartition
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from msgspec import structs

import adapter
from adapter.administration.mqsc import execute
from adapter.host.logs import LogSettings
from adapter.host.settings import ledger_keys
from adapter.localkafka import LocalKafka, free_port
from adapter.registry.rest import RestRegistry
from adapter.server.access import credentials
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.own_schemas import ON_TOPIC
from adapter.server.settings import ServerSettings
from tests.support import locked_kafka
from tests.support.backlog import until
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply
from tests.support.raw_client import HELLO, RawClient
from tests.support.server_process import ServerProcess

WITHIN_S = 20.0
USERS_OWN = "planted-right-7c1"
GUESSED = "planted-guess-5ae"
OF_REGISTRY = "planted-registry-90d"
PASSPHRASE = "planted-passphrase-31f"
WRONG_SASL = "planted-sasl-8b2"
OF_KEYS = "planted-keyrpwd-66e"
MQSC = f"""
ALTER QMGR KEYRPWD('{OF_KEYS}')
DISPLAY QMGR ALL
DISPLAY AUTHINFO(*) ALL
DISPLAY CONN(*) ALL
DISPLAY QLOCAL(*) ALL
DISPLAY AUTHREC
"""


class Search:
    """What was seen, by where; and the secrets that must not be in it."""

    def __init__(self, *secrets: str) -> None:
        self._secrets = secrets
        self._seen: dict[str, bytes] = {}

    def saw(self, where: str, what: object) -> None:
        """Note what was seen somewhere."""
        raw = what if isinstance(what, bytes) else str(what).encode(errors="surrogateescape")
        self._seen[where] = self._seen.get(where, b"") + raw + b"\n"

    def fails(self, where: str, work: Callable[[], Any]) -> None:
        """Do what must fail; note its exception, and all that are behind it."""
        with pytest.raises(Exception) as caught:
            work()
        self.saw(where, "".join(traceback.format_exception(caught.value)) + repr(caught.value))

    def judge(self, *places: str) -> None:
        """Fail if a secret was seen. places: where something must have been seen at all."""
        assert set(places) <= {where for where, raw in self._seen.items() if len(raw) > 20}
        found = [
            f"{where}: {secret}"
            for where, raw in self._seen.items()
            for secret in self._secrets
            if secret.encode() in raw
        ]
        assert not found, found


class Place:
    """A queue manager with all there is to keep secret, on a broker that wants a password."""

    def __init__(self, kafka: LocalKafka, trusted: Path, folder: Path) -> None:
        self.kafka, self.folder, self.socket = kafka, folder, folder / "socket"
        self.authority = Authority(folder, "ours")
        self.hashed = hash_cheaply(USERS_OWN)
        credentials.write(folder / "users", {"ann": self.hashed})
        certificate, key = self.authority.issue("kafka", "kafka.test", common_name="qm1")
        _encrypt(key)
        self.options = locked_kafka.options("qm1", trusted) | {
            "ssl.certificate.location": str(certificate),
            "ssl.key.location": str(key),
            "ssl.key.password": PASSPHRASE,
        }
        self.tls = structs.replace(
            self.authority.server(client_ca=str(self.authority.path)), port=free_port()
        )
        self.ledger_keys = folder / "ledger-keys"
        ledger_keys.add(self.ledger_keys)
        self.http, self.registry = free_port(), free_port()
        self.key_line = Path(self.tls.key).read_text().splitlines()[1]
        self.server = ServerProcess("QM1", kafka.proxied_bootstrap_servers, folder)

    def told(self, registry: str, **options: str) -> None:
        """Say what the queue manager is told at its next start."""
        settings = ServerSettings(
            queue_manager="QM1",
            kafka=KafkaSettings(
                bootstrap_servers=self.kafka.proxied_bootstrap_servers,
                options=self.options | options,
                ledger_key_file=str(self.ledger_keys),
            ),
            port=self.server.port,
            unix_path=str(self.socket),
            http_port=self.http,
            http_tls=True,
            credentials_file=str(self.folder / "users"),
            authorities=True,
            audit=True,
            registry=registry,
            registry_host="127.0.0.1",
            registry_port=self.registry if registry == ON_TOPIC else 0,
            tls=self.tls,
            log=LogSettings(level="debug", format="json"),
        )
        self.server.write_settings(msgspec.json.encode(settings))

    @property
    def ledger_key(self) -> tuple[str, str]:
        """The key of the ledger's seals, as its file has it, and as JSON would."""
        text = self.ledger_keys.read_text().splitlines()[-1]
        return text, base64.b64encode(bytes.fromhex(text)).decode()

    def as_auditor(self) -> list[str]:
        """The options of a command that reads topics, its password in a file of its own."""
        file = self.folder / "auditor.properties"
        file.touch(0o600)
        file.write_text("".join(f"{key}={value}\n" for key, value in self.options.items()))
        return ["--command-config", str(file)]

    def connect(self, password: str = USERS_OWN, **more: object) -> adapter.Connection:
        address = f"127.0.0.1:{self.tls.port}"
        login: dict[str, Any] = {"user": "ann", "password": password, **more}
        return adapter.connect(address, tls=self.authority.path, **login)

    def ask_registry(self, password: str) -> None:
        url = f"https://ann:{password}@127.0.0.1:{self.registry}"
        trusted = {"ssl.ca.location": str(self.authority.path)}
        with closing(RestRegistry(url, trusted)) as registry:
            registry.subjects()


def _encrypt(key: Path) -> None:
    loaded = load_pem_private_key(key.read_bytes(), None)
    locked = BestAvailableEncryption(PASSPHRASE.encode())
    key.write_bytes(loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    key, trusted = locked_kafka.certificate(tmp_path)
    allowing = {"allow.everyone.if.no.acl.found": "true"}
    with locked_kafka.locked_kafka(key | allowing) as kafka:
        one = Place(kafka, trusted, tmp_path)
        with one.server:
            yield one


def test_planted_secrets_come_out_nowhere(place: Place) -> None:
    search = Search(
        USERS_OWN, GUESSED, OF_REGISTRY, PASSPHRASE, WRONG_SASL, OF_KEYS,
        locked_kafka.PASSWORD, place.hashed, place.key_line, *place.ledger_key,
    )  # fmt: skip
    place.told(ON_TOPIC, **{"sasl.password": WRONG_SASL})
    place.server.launch()
    assert place.server.await_end(60) == 1
    search.saw("the log of a start that failed", place.server.said())

    place.told(f"http://ann:{OF_REGISTRY}@127.0.0.1:{free_port()}/")
    place.server.start()
    drive(place, search)
    place.server.kill()
    search.saw("log", place.server.said())

    place.told(ON_TOPIC)
    place.server.start()
    until(lambda: "our schemas are registered" in place.server.said())
    place.ask_registry(USERS_OWN)
    search.fails("registry", lambda: place.ask_registry(GUESSED))
    with place.connect() as qm:
        search.saw("figures", qm.figures())
    place.server.ask_to_end()
    assert place.server.await_end() == 0
    search.saw("log", place.server.said())
    for where, raw in records(place.kafka.bootstrap_servers):
        search.saw(where, raw)
    search.judge(
        "the log of a start that failed", "log", "processes", "metrics", "figures", "DISPLAY",
        "a wrong password", "a hello", "commands", "audit", "registry",
        "mq.QM1.ledger", "mq.QM1.q.Q", "mq.QM1.events",
    )  # fmt: skip


def drive(place: Place, search: Search) -> None:
    """Do what can be done, and what cannot."""
    search.fails("authority", place.connect)
    with adapter.connect(f"unix:{place.socket}") as operator:
        operator.set_role("admin", users=["ann"])
    with place.connect() as qm:
        qm.define_queue("Q", max_depth=1)
        qm.put("Q", b"a message")
        search.fails("full", lambda: qm.put("Q", b"one too many"))
        search.saw("DISPLAY", execute.run(qm, MQSC).replace(f"KEYRPWD('{OF_KEYS}')", "as typed"))
        search.saw("DISPLAY", qm.connections())
        until(lambda: "our schemas are not registered yet" in str(qm.figures()))
        search.saw("figures", qm.figures())
        search.fails("object", lambda: qm.define_object("process", "P", no_such=GUESSED[:3]))
    search.fails("a wrong password", lambda: place.connect(GUESSED))
    search.fails("a wrong password", lambda: place.connect(GUESSED, user="u" * 65))
    for hello in (
        [HELLO, 2, "QM9", "a program", "ann", 1, USERS_OWN],
        [HELLO, 99, "", "a program", "ann", 99, USERS_OWN],
        [HELLO, 2, "", "a program", "ann", "1", USERS_OWN],
        [HELLO, 2, "", "a program", "ann", 1, USERS_OWN * 20],
        [HELLO, 2, "", "a program", "ann", 1, [USERS_OWN]],
    ):
        with RawClient(place.server.address) as one, suppress(EOFError, ConnectionError):
            one.send_frame(hello)
            search.saw("a hello", one.receive())
    url = f"https://127.0.0.1:{place.http}/metrics"
    context = place.authority.client("monitor")
    with urllib.request.urlopen(url, context=context, timeout=WITHIN_S) as answer:
        search.saw("metrics", answer.read())
    for pid in (place.server.pid, place.server.movers_pid()):
        for file in ("cmdline", "environ"):
            search.saw("processes", Path(f"/proc/{pid}/{file}").read_bytes())
    for password in (USERS_OWN, GUESSED):
        search.saw("audit", command(place, password, "audit", *place.as_auditor()))
        search.saw("commands", command(place, password, "qmgr", "status"))
        search.saw("commands", command(place, password, "connection", "list"))


def command(place: Place, password: str, *words: str) -> str:
    """What a command prints; also where it failed."""
    environment = {"MQK_USER": "ann", "MQK_PASSWORD": password, "MQK_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "adapter.cli", *words, "--qmgr", place.server.address],
        env=environment, capture_output=True, timeout=60, check=False,
        cwd=Path(adapter.__file__).parents[1],
    )  # fmt: skip
    return (done.stdout + done.stderr).decode()


def records(bootstrap_servers: str) -> Iterator[tuple[str, bytes]]:
    """Give every record of every topic, with its key and its headers."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "a search",
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )
    try:
        topics = reader.list_topics(timeout=WITHIN_S).topics
        lanes = [
            TopicPartition(name, lane, 0)
            for name, one in topics.items()
            if not name.startswith("__")
            for lane in one.partitions
        ]
        reader.assign(lanes)
        ended = 0
        while ended < len(lanes):
            record = reader.poll(WITHIN_S)
            assert record is not None, "a topic has no end"
            if record.error():
                ended += 1
                continue
            parts = [record.key(), record.value(), str(record.headers()).encode()]
            yield record.topic() or "", b" ".join(one for one in parts if isinstance(one, bytes))
    finally:
        reader.close()
