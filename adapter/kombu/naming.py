"""Exchanges, keys and bindings of AMQP as topics and subscriptions of a queue manager.

An exchange is a part of the topic tree: a message that is published on exchange `shop` with the key
`order.new` is a publication on `kombu/shop/order/new`, and each binding is a subscription, so that
the queue manager itself does the routing, for all programs. By their names the bindings of a queue
are one group: it gets one copy of a message, however many of them match. The default exchange,
whose name is empty, is `kombu/` in the same way; its keys are names of queues.

This module knows neither connections nor messages.
"""

from __future__ import annotations

from urllib.parse import quote

from adapter.errors import InvalidOption

TOP = "kombu"
TYPES = "!"
"""A level that stands for no exchange, as those of exchanges are quoted."""


def publication_topic(exchange: str, key: str) -> str:
    """Return the topic that a message for an exchange is published on."""
    return "/".join((TOP, _level(exchange), *map(_level, key.split("."))))


def type_topic(exchange: str) -> str:
    """Return the topic on which the type of an exchange is retained."""
    return f"{TOP}/{TYPES}/{_level(exchange)}"


def binding_topic(exchange: str, exchange_type: str, key: str) -> str:
    """Return the topic string of the subscription that stands for a binding.

    exchange_type: "direct"; "topic", in whose keys `*` stands for one word and `#` for any number
    of them; or "fanout", which ignores the key.
    """
    if exchange_type == "fanout":
        return f"{TOP}/{_level(exchange)}/#"
    if exchange_type == "direct":
        return publication_topic(exchange, key)
    wildcards = {"*": "+", "#": "#"}
    levels = (wildcards.get(word) or _level(word) for word in key.split("."))
    return "/".join((TOP, _level(exchange), *levels))


def subscription_name(queue: str, exchange: str, key: str) -> str:
    """Return the name of the subscription that stands for a binding of a queue.

    queue: its name at the queue manager.
    """
    return f"{bindings_of(queue)}{_quote(exchange, '')} {_quote(key, '')}"


def bindings_of(queue: str) -> str:
    """Return how the names of the subscriptions of a queue's bindings begin.

    queue: its name at the queue manager.
    """
    return f"{TOP} {queue} "


def _level(text: str) -> str:
    """Return a level of a topic string that stands for itself only."""
    return _quote(text, "@: ")


def _quote(text: str, safe: str) -> str:
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise InvalidOption(
            f"the exchange or key {text!r} has half of a surrogate pair: name it in whole "
            "characters"
        ) from None
