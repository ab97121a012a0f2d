"""Timers and lifetimes of conversations that are over at the same time."""

from adapter.core.attributes.broker import QUEUE, SERVICE
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.results import Messages, Refused
from tests.support.core import Client, Core

QUEUE_NAME = "Dialogs"
DIALOGS = 3


def done(client: Client, *wanted: b.BrokerBegin | b.BrokerSend | b.BrokerTimer) -> None:
    """Do all in one unit."""
    unit = client.begin()
    for command in wanted:
        command.unit = unit
        assert not isinstance(client.do(command), Refused)
    assert not isinstance(client.do(c.Commit(unit)), Refused)


def received(client: Client) -> list[str]:
    """Receive and commit everything; returns the message types."""
    found: list[str] = []
    while True:
        unit = client.begin()
        answer = client.do(b.BrokerReceive(unit, QUEUE_NAME))
        assert isinstance(answer, Messages), answer
        client.do(c.Commit(unit))
        if not answer.messages:
            return found
        headers = [one.message.broker for one in answer.messages]
        found += [header.message_type for header in headers if header is not None]


def dialogs(lifetime_ms: int = 0) -> tuple[Core, Client]:
    """Begin dialogs of one service with another; both have the same queue."""
    core = Core()
    client = core.connect()
    assert not isinstance(client.do(b.BrokerCreate(QUEUE, QUEUE_NAME)), Refused)
    for name in ("near", "far"):
        attributes = {"queue": QUEUE_NAME, "contracts": b.DEFAULT}
        assert not isinstance(client.do(b.BrokerCreate(SERVICE, name, attributes)), Refused)
    for number in range(DIALOGS):
        handle = bytes(15) + bytes([number + 1])
        done(
            client,
            b.BrokerBegin(b"", handle, "near", "far", b.DEFAULT, lifetime_ms, group=handle),
            b.BrokerSend(b"", [handle], b.DEFAULT, b"x"),
        )
    assert received(client) == [b.DEFAULT] * DIALOGS
    return core, client


def test_every_side_gets_an_error_when_several_lifetimes_are_over_together() -> None:
    core, client = dialogs(lifetime_ms=5_000)
    core.advance(6)
    core.crash_with_snapshot()
    client = core.connect()
    assert received(client) == [b.ERROR] * (2 * DIALOGS)


def test_every_timer_puts_its_message_when_several_are_due_together() -> None:
    core, client = dialogs()
    handles = list(core.qm.conversations.endpoints)
    done(client, *(b.BrokerTimer(b"", handle, 5_000) for handle in handles))
    core.advance(6)
    assert received(client) == [b.DIALOG_TIMER] * (2 * DIALOGS)
