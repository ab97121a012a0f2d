"""Exchanges have one type, which every program knows; a binding is of that type."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kombu
import pytest
from kombu.exceptions import ChannelError

import adapter
from adapter import testing
from adapter.kombu.exchanges import Exchanges
from adapter.server.access import credentials
from adapter.testing import TestQueueManager
from tests.support.passwords import hash_cheaply

TYPES = ("direct", "topic", "fanout")
REACHES = {"direct": (False, False), "topic": (True, False), "fanout": (True, True)}
"""Whether a binding with the key `a.*` gets a publication with `a.b`, and with `other`."""


@pytest.fixture
def other(url: str) -> Iterator[kombu.Connection]:
    """A connection of another process: it has another link."""
    with kombu.Connection(url, transport_options={"application": "other"}) as made:
        yield made


def reached(connection: kombu.Connection, qm: adapter.Connection, exchange: str) -> Any:
    """Publish on an exchange; say of each publication whether it came to the queue Q."""
    counts = []
    for key in ("a.b", "other"):
        kombu.Producer(connection).publish("x", exchange=exchange, routing_key=key)
        counts.append(qm.queue("Q").purge() == 1)
    return tuple(counts)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("how", ["predeclared", "not declared here", "by name", "passive"])
def test_a_binding_is_of_the_type_of_its_exchange(
    connection: kombu.Connection,
    other: kombu.Connection,
    qm: adapter.Connection,
    kind: str,
    how: str,
) -> None:
    name = f"amq.{kind}" if how == "predeclared" else f"of-{kind}"
    if how != "predeclared":
        kombu.Exchange(name, kind)(other.default_channel).declare()
    channel = connection.default_channel
    if how == "by name":
        kombu.Queue("Q")(channel).declare()
        channel.queue_bind("Q", name, "a.*")
    else:
        options = {"no_declare": how == "not declared here", "passive": how == "passive"}
        kombu.Queue("Q", kombu.Exchange(name, kind, **options), "a.*")(channel).declare()
    assert reached(connection, qm, name) == REACHES[kind]


def test_what_no_program_has_declared_is_not_found(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    channel = connection.default_channel
    channel.queue_declare("Q")
    asked: list[Callable[[], None]] = [
        lambda: channel.exchange_declare("nowhere", "direct", passive=True),
        lambda: channel.queue_bind("Q", "nowhere", "k"),
    ]
    for ask in asked:
        with pytest.raises(ChannelError, match="no exchange 'nowhere'") as refused:
            ask()
        assert refused.value.reply_code == "404"
    assert not qm.objects("subscription")


@pytest.mark.parametrize("auto_delete", [False, True])
@pytest.mark.parametrize("durable", [False, True])
def test_an_exchange_of_another_type_is_refused_until_it_is_deleted(
    connection: kombu.Connection, other: kombu.Connection, durable: bool, auto_delete: bool
) -> None:
    how = {"durable": durable, "auto_delete": auto_delete}
    for _ in range(2):
        other.default_channel.exchange_declare("X", "fanout", **how)
    with pytest.raises(ChannelError, match="'X' is of type fanout, not direct") as refused:
        connection.default_channel.exchange_declare("X", "direct", **how)
    assert refused.value.reply_code == "406"
    with pytest.raises(ChannelError, match=r"'amq.topic' is of type topic"):
        connection.default_channel.exchange_declare("amq.topic", "direct")
    other.default_channel.exchange_delete("X")
    connection.default_channel.exchange_declare("X", "direct", **how)
    with pytest.raises(ChannelError, match="'X' is of type direct"):
        other.default_channel.exchange_declare("X", "fanout", **how)


def test_a_durable_exchange_is_known_after_a_restart(manager: TestQueueManager) -> None:
    with manager.connect() as first:
        Exchanges(first).declare("X", "topic", durable=True, auto_delete=False)
    manager.restart()
    with manager.connect() as second:
        assert Exchanges(second).type_of("X") == "topic"


def test_what_others_retain_there_is_no_type(qm: adapter.Connection) -> None:
    for body in (b"headers", b"\xff", b"direct\0"):
        qm.publish("kombu/!/X", body, retain=True)
        assert Exchanges(qm).type_of("X") is None


def test_an_exchange_may_have_any_name(qm: adapter.Connection) -> None:
    exchanges = Exchanges(qm)
    for name in ("!", "!/X", "a/b", "+", "#", "x y", "é"):
        exchanges.declare(name, "topic", durable=False, auto_delete=False)
        assert Exchanges(qm).type_of(name) == "topic"
    assert Exchanges(qm).type_of("X") is None


def test_a_program_that_may_not_subscribe_knows_its_own(tmp_path: Path) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"eve": hash_cheaply("eve")})
    options: dict[str, Any] = {"credentials_file": users, "authorities": True}
    with testing.queue_manager("QM1", unix_path=tmp_path / "s", **options) as guarded:
        with guarded.connect() as operator:
            operator.set_authority("", "qmgr", users=["eve"], add=["connect"])
            operator.define_object("topic", "KOMBU", topic_string="kombu")
            operator.set_authority("KOMBU", "topic", users=["eve"], add=["pub"])
            Exchanges(operator).declare("Y", "topic", durable=True, auto_delete=False)
        with adapter.connect(guarded.address, user="eve", password="eve") as qm:
            exchanges = Exchanges(qm)
            exchanges.declare("X", "fanout", durable=True, auto_delete=False)
            assert exchanges.type_of("X") == "fanout"
            assert exchanges.type_of("Y") is None
            for auto_delete in (False, True):  # what others have declared stays
                exchanges.declare("Y", "direct", durable=True, auto_delete=auto_delete)
            exchanges.delete("Y")
            exchanges.delete("X")
            assert exchanges.type_of("X") is None
        with guarded.connect() as operator:
            assert Exchanges(operator).type_of("Y") == "topic"
