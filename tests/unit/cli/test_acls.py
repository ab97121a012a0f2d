"""mqk acl list: whose rights, of what role, as what settings and options say."""

import json
import shlex
from pathlib import Path

import pytest

from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk

QM1 = ("acl", "list", "--principal", "User:qm1", "--name", "QM1")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder without settings."""
    monkeypatch.chdir(tmp_path)


def resources(out: str) -> list[str]:
    """The names in lines of JSON, each once."""
    return list(dict.fromkeys(json.loads(line)["resource_name"] for line in out.splitlines()))


def test_commands_are_what_is_printed_unless_said_otherwise(mqk: Mqk) -> None:
    said = mqk(*QM1)
    assert (said.status, said.err) == (0, "")
    for line in said.out.splitlines():
        words = shlex.split(line)
        assert words[:4] == ["kafka-acls.sh", "--bootstrap-server", "localhost:9092", "--add"]
        assert words[4:6] == ["--allow-principal", "User:qm1"]


def test_settings_say_what_a_queue_manager_works_with(mqk: Mqk, tmp_path: Path) -> None:
    assert resources(mqk(*QM1, "--format", "json").out) == [
        *("mq.QM1.", "mqk-", "_schemas", "mq.directory"),
    ]
    (tmp_path / "its.toml").write_text(
        'queue_manager = "A/B"\nnetwork = "no"\nschema_registry = "none"\n'
        '[kafka]\nbootstrap_servers = "k:1"\n'
    )
    given = ("acl", "list", "--principal", "User:x", "--config", tmp_path / "its.toml")
    assert resources(mqk(*given, "--format", "json").out) == ["mq.A-sB.", "mqk-"]
    assert "--bootstrap-server k:1 " in mqk(*given).out
    assert "--bootstrap-server h:2 " in mqk(*given, "--bootstrap-server", "h:2").out


def test_options_add_topics(mqk: Mqk) -> None:
    given = ("--feed-topic", "orders", "--export-topic", "results", "--peer", "QM2", "--peer", "C")
    assert resources(mqk(*QM1, *given, "--format", "json").out)[4:] == [
        *("mq.QM2.in.QM1", "mq.C.in.QM1", "orders", "mqk-QM1-", "results"),
    ]


def test_a_running_queue_manager_says_what_it_works_with(
    mqk: Mqk, manager: TestQueueManager
) -> None:
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic="orders", queue="Q")
        qm.define_queue("OUT", msg_delivery_sequence="FIFO")
        qm.define_object("export", "X", topic="results", queue="OUT")
        name = qm.name
    given = ("acl", "list", "--principal", "User:qm1", "--qmgr", manager.address)
    found = resources(mqk(*given, "--feed-topic", "more", "--format", "json").out)
    assert found[0] == f"mq.{name}."
    assert [one for one in found if one in ("orders", "results", "more")] == [
        *("more", "orders", "results"),
    ]
    other = mqk(*given, "--name", "OTHER")
    assert other.status == 2
    assert f"--name OTHER and --qmgr exclude each other: it is {name}" in other.err


def test_a_strimzi_user_has_its_rights(mqk: Mqk) -> None:
    out = mqk(*QM1, "--role", "inbound-writer", "--format", "strimzi").out
    assert out.splitlines()[-6:] == [
        "      - resource:",
        "          type: topic",
        '          name: "mq.QM1.in"',
        "          patternType: literal",
        "        operations:",
        "          - Write",
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--principal", "qm1"), "'qm1' is not TYPE:NAME, such as User:qm1"),
        (("--principal", "User:a\nb"), "is not TYPE:NAME"),
        (("--name", "a b"), "'a b' is not a valid name: use 1 to 48 of A-Z"),
        (("--peer", "x-y"), "'x-y' is not a valid name"),
        (("--feed-topic", "a b"), "'a b' is not a topic of Kafka"),
        (("--group", "a\tb", "--role", "reader"), "is not a consumer group"),
        (("--role", "reader"), "role reader needs --queue QUEUE and --group GROUP"),
        (("--role", "network-peer"), "role network-peer needs --peer NAME"),
    ],
)
def test_wrong_use_says_what_is_right(mqk: Mqk, options: tuple[str, ...], says: str) -> None:
    said = mqk(*QM1, *options)
    assert said.status == 2
    assert says in said.err


def test_a_role_needs_what_settings_do_not_say(mqk: Mqk, monkeypatch: pytest.MonkeyPatch) -> None:
    nameless = mqk("acl", "list", "--principal", "User:x")
    assert nameless.status == 2
    assert "role queue-manager needs --name NAME (or the setting queue_manager)" in nameless.err
    monkeypatch.setenv("MQK_SCHEMA_REGISTRY", "none")
    registry = mqk("acl", "list", "--principal", "User:x", "--role", "registry")
    assert "role registry needs the setting schema_registry = topic" in registry.err
