"""Exchanges and keys as topics: a binding matches what AMQP says, and nothing else."""

import pytest

from adapter.kombu.naming import (
    binding_topic,
    bindings_of,
    publication_topic,
    subscription_name,
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
