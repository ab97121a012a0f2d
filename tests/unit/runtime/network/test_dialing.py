"""From an address to dialers: addresses, and the directory on Kafka."""

import ssl
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import adapter
from adapter import msmq, servicebroker, testing
from adapter.connection.channel.addresses import DirectoryAddress, parse_directory
from adapter.connection.channel.link.lookup import LookUpDialer
from adapter.errors import InvalidOption, InvalidValue
from adapter.runtime.network import lookup
from adapter.runtime.network.dialing import dialers_by, directory_by
from adapter.runtime.network.directory import Directory, DirectoryEntry, entry_record
from adapter.runtime.network.lookup import options_in


@pytest.mark.parametrize(
    ("text", "servers", "name"),
    [
        ("kafka://k:9092/QM1", "k:9092", "QM1"),
        ("kafka://k1:9092,k2:9092/QM1", "k1:9092,k2:9092", "QM1"),
        ("kafka://k", "k", ""),
        ("kafka://k/", "k", ""),
        ("kafka://k:9092/A/B%C", "k:9092", "A/B%C"),
    ],
)
def test_an_address_names_the_kafka_and_the_queue_manager(
    text: str, servers: str, name: str
) -> None:
    assert parse_directory(text) == DirectoryAddress(servers, name)


@pytest.mark.parametrize("text", ["k:9092/QM1", "unix:/kafka", "", "http://k/QM1"])
def test_other_addresses_name_no_directory(text: str) -> None:
    assert parse_directory(text) is None


@pytest.mark.parametrize("text", ["kafka://", "kafka:///QM1"])
def test_an_address_without_servers_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="is not kafka://HOST:PORT"):
        parse_directory(text)


def test_arguments_win_over_what_the_address_leaves_open() -> None:
    assert directory_by("kafka://k:1/QM1", "QM2", None) == DirectoryAddress("k:1", "QM1")
    assert directory_by("kafka://k:1", "QM2", None) == DirectoryAddress("k:1", "QM2")
    assert directory_by("host:1414", "QM2", "k:2") == DirectoryAddress("k:2", "QM2")
    assert directory_by("host:1414", "QM2", None) is None


def test_without_a_kafka_client_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adapter.runtime.network.lookup", None)
    with pytest.raises(InvalidOption, match=r"confluent-kafka.*install mqk-client\[kafka\]"):
        adapter.connect(bootstrap_servers="k:9092")
    with testing.queue_manager() as manager:
        adapter.connect(manager.address).close()


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A directory that has one queue manager; what it was asked for."""
    asked: dict[str, Any] = {}

    def look_up_in(name: str, servers: str, options: Any, *, tls: bool) -> Callable[[float], str]:
        asked.update(name=name, servers=servers, options=options, tls=tls)
        return lambda _: asked["address"]

    monkeypatch.setattr(lookup, "directory_look_up", look_up_in)
    return asked


def test_every_face_takes_such_an_address(found: dict[str, Any]) -> None:
    address = "kafka://k1:9092,k2:9092/QM1"
    with testing.queue_manager() as manager:
        found["address"] = manager.address
        with adapter.connect(address) as qm:
            assert qm.name == "QM1"
        assert found == {
            "name": "QM1",
            "servers": "k1:9092,k2:9092",
            "options": None,
            "tls": False,
            "address": manager.address,
        }
        msmq.connect(address).close()
        servicebroker.connect(address).close()


def test_clients_with_tls_are_led_to_where_tls_is(found: dict[str, Any]) -> None:
    (dialer,) = dialers_by("kafka://k/QM1", ssl.create_default_context())
    assert isinstance(dialer, LookUpDialer)
    assert found["tls"]


@pytest.mark.parametrize(
    ("tls_address", "tls", "wanted"),
    [
        ("h:1415", True, "h:1415"),
        ("h:1415", False, "h:1414"),
        ("", True, "h:1414"),
        ("", False, "h:1414"),
    ],
)
def test_the_directory_has_both_addresses(
    monkeypatch: pytest.MonkeyPatch, tls_address: str, tls: bool, wanted: str
) -> None:
    directory = Directory()
    record = entry_record(DirectoryEntry("QM1", "h:1414", tls_address=tls_address))
    directory.take(record.key, record.value)
    monkeypatch.setattr(lookup, "read_directory", lambda *_: directory)
    assert lookup.directory_look_up("QM1", "k:9092", {}, tls=tls)(1.0) == wanted


def test_an_entry_of_an_earlier_release_has_no_address_for_tls() -> None:
    directory = Directory()
    value = b'{"version":1,"queue_manager":"QM1","address":"h:1","ident":"","computer":""}'
    directory.take(b"queue-manager QM1", value)
    entry = directory.entry("QM1")
    assert entry is not None
    assert (entry.address, entry.tls_address) == ("h:1", "")


def test_settings_of_the_kafka_client_come_from_the_environment() -> None:
    environment = {
        "MQK_KAFKA_OPTION_SECURITY_PROTOCOL": "SSL",
        "MQK_KAFKA_OPTION_A__B": "1",
        "MQK_KAFKA_OPTION_EMPTY": "",
        "MQK_USER": "ann",
    }
    assert options_in(environment) == {"security.protocol": "SSL", "a_b": "1"}


def test_the_light_client_reads_the_directory_without_what_only_a_queue_manager_needs() -> None:
    """mqk-client[kafka] has confluent-kafka and fastavro beside msgspec."""
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('structlog', 'click', 'uvloop'), None))\n"
        "from adapter.runtime.network.lookup import directory_look_up\n"
        "directory_look_up('QM1', 'k:9092', {})\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
