"""Exchanges and keys as topics: a binding matches what AMQP says, and nothing else."""

from collections.abc import Callable

import pytest

from adapter.errors import InvalidOption
from adapter.kombu.naming import (
    binding_topic,
    bindings_of,
    publication_topic,
    subscription_name,
    type_topic,
)


@pytest.mark.parametrize(
    ("exchange", "key", "topic"),
    [
        ("shop", "order.new", "kombu/shop/order/new"),
        ("", "celery", "kombu//celery"),
        ("shop", "", "kombu/shop/"),
        ("a/b", "x+y.#", "kombu/a%2Fb/x%2By/%23"),
    ],
)
def test_a_publication_is_on_the_exchanges_topic(exchange: str, key: str, topic: str) -> None:
    assert publication_topic(exchange, key) == topic


@pytest.mark.parametrize(
    ("exchange_type", "key", "topic"),
    [
        ("direct", "order.*", "kombu/shop/order/%2A"),
        ("topic", "order.*.#", "kombu/shop/order/+/#"),
        ("topic", "a+b.new", "kombu/shop/a%2Bb/new"),
        ("fanout", "ignored", "kombu/shop/#"),
    ],
)
def test_only_topic_exchanges_have_wildcards(exchange_type: str, key: str, topic: str) -> None:
    assert binding_topic("shop", exchange_type, key) == topic


def test_the_name_of_a_binding_has_no_ambiguous_blank() -> None:
    name = subscription_name("Q", "my exchange", "a b")
    assert name == "kombu Q my%20exchange a%20b"
    assert name.startswith(bindings_of("Q"))
    assert not name.startswith(bindings_of("my%20exchange"))


def test_the_type_of_an_exchange_is_retained_beside_all_exchanges() -> None:
    assert type_topic("a/b") == "kombu/!/a%2Fb"
    assert publication_topic("!", "k") == "kombu/%21/k"
    assert binding_topic("!", "fanout", "") == "kombu/%21/#"


def test_half_a_surrogate_pair_is_refused() -> None:
    bad = "a\ud800"
    makers: list[Callable[[], str]] = [
        lambda: publication_topic(bad, "k"),
        lambda: publication_topic("x", bad),
        lambda: binding_topic("x", "topic", f"*.{bad}"),
        lambda: subscription_name("Q", "x", bad),
        lambda: type_topic(bad),
    ]
    for make in makers:
        with pytest.raises(InvalidOption, match="half of a surrogate pair"):
            make()
