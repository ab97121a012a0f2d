"""What AMQP has and this transport has not: refused, or named in the log once."""

from typing import Any

import kombu
import pytest
from kombu.exceptions import ChannelError

from adapter.kombu import unsupported


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsupported, "_told", set())


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said to have no effect."""
    return [
        one.getMessage().partition(" has no effect")[0]
        for one in caplog.records
        if "has no effect" in one.getMessage()
    ]


def test_a_dead_letter_exchange_is_refused(connection: kombu.Connection) -> None:
    queue = kombu.Queue("Q", queue_arguments={"x-dead-letter-exchange": "dead"})
    with pytest.raises(ChannelError, match="x-dead-letter-routing-key"):
        queue(connection.default_channel).declare()
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "BAD"}
    kombu.Queue("Q", queue_arguments=arguments)(connection.default_channel).declare()


@pytest.mark.parametrize("options", [{}, {"exclusive": True}, {"auto_delete": True}])
@pytest.mark.parametrize("exchange", [{}, {"x-dead-letter-exchange": ""}])
def test_a_queue_whose_messages_should_move_when_they_expire_is_refused(
    connection: kombu.Connection, options: dict[str, Any], exchange: dict[str, Any]
) -> None:
    arguments = {"x-message-ttl": 300, "x-dead-letter-routing-key": "work", **exchange}
    queue = kombu.Queue("wait", queue_arguments=arguments, **options)
    with pytest.raises(ChannelError, match="what expires is gone") as refused:
        queue(connection.default_channel).declare()
    assert refused.value.reply_code == "540"
    assert not connection.transport.link.has("wait")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"queue_arguments": {"x-overflow": "drop-head"}}, ["the argument x-overflow of a queue"]),
        ({"max_length": 5, "message_ttl": 5, "expires": 5, "max_priority": 9}, []),
        ({"exclusive": True, "expires": 5}, []),
        (
            {"auto_delete": True, "message_ttl": 5},
            ["the argument x-message-ttl of a temporary queue"],
        ),
        ({"exclusive": True, "max_length": 5}, ["the argument x-max-length of a temporary queue"]),
    ],
)
def test_arguments_of_queues_without_effect_are_told_once(
    connection: kombu.Connection,
    caplog: pytest.LogCaptureFixture,
    options: dict[str, Any],
    expected: list[str],
) -> None:
    for name in ("Q", "R"):
        kombu.Queue(name, **options)(connection.default_channel).declare()
    assert told(caplog) == expected


def test_exchanges_of_other_types_are_refused(
    connection: kombu.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ChannelError, match="exchange type 'headers'"):
        kombu.Exchange("X", "headers")(connection.default_channel).declare()
    exchange = kombu.Exchange("X", "topic", arguments={"alternate-exchange": "Y"})
    exchange(connection.default_channel).declare()
    assert told(caplog) == ["the argument alternate-exchange of an exchange"]


def test_a_consumer_tag_is_used_once(
    connection: kombu.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    channel = connection.default_channel
    kombu.Queue("Q")(channel).declare()
    channel.basic_consume("Q", False, print, "tag", exclusive=True, arguments={"x-priority": 1})
    with pytest.raises(ChannelError, match="reuse consumer tag 'tag'"):
        channel.basic_consume("Q", False, print, "tag")
    channel.basic_cancel("tag")
    channel.basic_consume("Q", False, print, "tag")
    channel.basic_cancel("tag")
    assert told(caplog) == ["exclusive of a consumer", "the argument x-priority of a consumer"]


def test_transport_options_that_nothing_looks_at_are_told(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"delayed_delivry": False, "delayed_delivery": True, "max_retries": 1, "wait_s": 1}
    with kombu.Connection(url, transport_options=options) as connection:
        connection.connect()
    assert told(caplog) == ["the transport option delayed_delivry"]
