"""What AMQP or kombu have, and this transport has not.

It is refused where a message would be lost or go astray. Anything else is named in the log, once a
process: a program that was written for another broker works, and its author can know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kombu.exceptions import ChannelError
from kombu.log import get_logger

EXCHANGE_TYPES = frozenset({"direct", "topic", "fanout"})
DEAD_LETTER_EXCHANGE = "x-dead-letter-exchange"
WITH_EFFECT = frozenset(
    {"x-message-ttl", "x-max-length", "x-dead-letter-routing-key", DEAD_LETTER_EXCHANGE}
)
"""Arguments of a permanent queue."""
NEEDLESS = frozenset({"x-expires", "x-max-priority"})
"""Arguments that Celery gives its own queues, which are gone with their process; every queue has
priorities."""
OF_PUBLICATIONS = frozenset({"mandatory", "confirm_timeout", "timeout"})
"""Options of a publication that have an effect, or need none: it is confirmed when it returns."""
OF_KOMBU = frozenset(
    {
        *("max_retries", "interval_start", "interval_step", "interval_max"),
        *("connect_retries_timeout", "errback", "callback"),
    }
)
"""Transport options that kombu itself looks at."""

logger = get_logger(__name__)
_told: set[str] = set()


def tell(what: str) -> None:
    """Log once that something has no effect."""
    if what not in _told:
        _told.add(what)
        logger.warning("%s has no effect on this transport (this is logged once)", what)


def check_queue(arguments: Mapping[str, Any], *, is_temporary: bool) -> None:
    """Refuse arguments of a queue that would lose messages; log those that have no effect."""
    exchange = arguments.get(DEAD_LETTER_EXCHANGE)
    if exchange:
        raise ChannelError(
            f"NOT_IMPLEMENTED - {DEAD_LETTER_EXCHANGE} {exchange!r}: rejected messages go to a "
            "queue, not to an exchange; name the queue by x-dead-letter-routing-key alone",
            (50, 10),
            "Channel.queue_declare",
            "540",
        )
    if "x-message-ttl" in arguments and "x-dead-letter-routing-key" in arguments:
        raise ChannelError(
            "NOT_IMPLEMENTED - x-message-ttl with x-dead-letter-routing-key: what expires is gone, "
            "and not moved to another queue; delay a message by its eta, or declare the queue "
            "with one of the two",
            (50, 10),
            "Channel.queue_declare",
            "540",
        )
    known = NEEDLESS if is_temporary else WITH_EFFECT | NEEDLESS
    of = "a temporary queue" if is_temporary else "a queue"
    for name in sorted(arguments.keys() - known):
        tell(f"the argument {name} of {of}")


def precondition_failed(problem: str) -> ChannelError:
    """Make the error of a queue that cannot be declared so."""
    return ChannelError(
        f"PRECONDITION_FAILED - {problem}", (50, 10), "Channel.queue_declare", "406"
    )


def whole_number(arguments: Mapping[str, Any], name: str) -> int:
    """Return an argument of a queue that is a number; refuse one that RabbitMQ refuses."""
    value = arguments[name]
    if type(value) is not int or value < 0:
        raise precondition_failed(f"invalid {name} {value!r}: use a whole number, 0 or more")
    return value


def check_exchange(kind: str, arguments: Mapping[str, Any]) -> None:
    """Refuse a type of exchange that does not exist; log arguments, which have no effect."""
    if kind not in EXCHANGE_TYPES:
        raise ChannelError(
            f"NOT_IMPLEMENTED - exchange type {kind!r}: use {', '.join(sorted(EXCHANGE_TYPES))}",
            (40, 10),
            "Channel.exchange_declare",
            "540",
        )
    for name in sorted(arguments):
        tell(f"the argument {name} of an exchange")


def check_publication(options: Mapping[str, Any]) -> None:
    """Log options of a publication that have no effect."""
    for name in sorted(options.keys() - OF_PUBLICATIONS):
        if options[name]:
            tell(f"{name} of a publication")


def no_route(exchange: str, key: str) -> ChannelError:
    """Make the error of a mandatory publication that has reached no queue."""
    return ChannelError(
        f"NO_ROUTE - no queue for exchange {exchange!r}, key {key!r}: the message is discarded",
        (60, 50),
        "Channel.basic_return",
        "312",
    )


def no_exchange(exchange: str, method: tuple[int, int], name: str) -> ChannelError:
    """Make the error of an exchange whose type no program has declared."""
    return ChannelError(
        f"NOT_FOUND - no exchange {exchange!r}: declare it, with its type", method, name, "404"
    )


def check_consumer(tag: str, tags: Iterable[str], options: Mapping[str, Any]) -> None:
    """Refuse a consumer tag that the channel has; log options that have no effect."""
    if tag in tags:
        raise ChannelError(
            f"NOT_ALLOWED - attempt to reuse consumer tag {tag!r}: cancel its consumer first",
            (60, 20),
            "Channel.basic_consume",
            "530",
        )
    if options.get("exclusive"):
        tell("exclusive of a consumer")
    for name in sorted(options.get("arguments") or {}):
        tell(f"the argument {name} of a consumer")


def check_options(given: Iterable[str], known: Iterable[str]) -> None:
    """Log transport options that have no effect, perhaps because they are misspelt."""
    for name in sorted({*given} - {*known} - OF_KOMBU):
        tell(f"the transport option {name}")
