"""Names on Kafka: legal, reversible, and never two for one nor one for two."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.storage.format import names
from tests.support.examples import examples

LEGAL = re.compile(r"[A-Za-z0-9._-]+")
ANY_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
MQ_NAME = st.text(st.sampled_from("ABab09._/%"), min_size=1, max_size=48)
NAME = st.one_of(ANY_NAME, MQ_NAME, st.sampled_from(["A.q.B", "-1", "A-1", "-x41", "-d", "q", "."]))
FAST = settings(max_examples=examples(150))


@FAST
@given(NAME)
def test_escaping_is_reversible_and_legal(name: str) -> None:
    for dots in (False, True):
        text = names.escape(name, dots=dots)
        assert names.unescape(text, dots=dots) == name
        assert LEGAL.fullmatch(text)
        assert "_" not in text, "Kafka takes A_B for A.B"
        assert "." not in text or not dots


@FAST
@given(NAME, NAME, st.integers(0, 10**6))
def test_a_queue_topic_tells_whose_it_is(manager: str, queue: str, incarnation: int) -> None:
    topic = names.queue_topic(manager, queue, incarnation)
    assert names.parse_queue_topic(topic) == (manager, queue, incarnation)
    assert LEGAL.fullmatch(topic)


@FAST
@given(NAME)
def test_a_ledger_topic_tells_whose_it_is(manager: str) -> None:
    assert names.parse_ledger_topic(names.ledger_topic(manager)) == manager


@pytest.mark.parametrize(
    "topic",
    ["", "mq", "mq.QM", "mq.QM.events", "mq.ledger", "mq.A.B.ledger", "xx.QM.ledger",
     "mq..ledger", "mq.Q_M.ledger", "mq.Q-.ledger", "mq.QM.ledger.x"],
)  # fmt: skip
def test_what_is_no_ledger_topic(topic: str) -> None:
    assert names.parse_ledger_topic(topic) is None


LIKE_A_NAME = st.lists(st.sampled_from([*"AB.-_019", "-o", "-u", "-x2e", "-x41", "-1"])).map(
    "".join
)


@settings(max_examples=examples(1000))
@given(LIKE_A_NAME, LIKE_A_NAME)
def test_what_is_read_as_a_name_is_written_so(manager: str, queue: str) -> None:
    """Whatever another program names its topics: no two are read as the topic of one queue."""
    topic = f"mq.{manager}.q.{queue}"
    try:
        found = names.parse_queue_topic(topic)
    except names.NotAQueueTopic:
        pass
    else:
        assert names.queue_topic(*found) == topic
        assert all(found[:2]), "neither has an empty name"
    ledger, inbound = f"mq.{manager}.ledger", f"mq.QM1.in.{manager}"
    owner, source = names.parse_ledger_topic(ledger), names.parse_inbound_topic(inbound)
    assert owner is None or (owner and names.ledger_topic(owner) == ledger)
    assert source is None or (source and names.inbound_topic("QM1", source) == inbound)


@FAST
@given(st.lists(st.tuples(NAME, NAME, st.integers(0, 3)), min_size=2, max_size=2, unique=True))
def test_two_queues_never_share_a_topic(queues: list[tuple[str, str, int]]) -> None:
    first, second = (names.queue_topic(*queue) for queue in queues)
    assert first != second
    assert first.replace(".", "_") != second.replace(".", "_"), "nor do their metrics in Kafka"


@FAST
@given(st.lists(ANY_NAME, min_size=2, max_size=2, unique=True))
def test_topics_of_two_queue_managers_differ(managers: list[str]) -> None:
    kinds = (names.ledger_topic, names.events_topic, names.progress_topic)
    topics = {kind(manager) for kind in kinds for manager in managers}
    topics |= {names.queue_topic(manager, "ledger") for manager in managers}
    assert len(topics) == 8


@FAST
@given(ANY_NAME, ANY_NAME, ANY_NAME)
def test_what_others_write_is_no_topic_of_the_queue_managers_own(
    manager: str, other: str, name: str
) -> None:
    kinds = (names.ledger_topic, names.events_topic, names.progress_topic, names.snapshots_topic)
    own = [kind(manager) for kind in kinds]
    own += [names.queue_topic(manager, name), names.export_topic(manager, name)]
    of_others = [names.inbound_topic(manager), names.inbound_topic(manager, other), "orders"]
    of_others += [kind(other) for kind in kinds if other != manager] + [names.DIRECTORY_TOPIC]
    assert all(names.is_own(topic, manager) for topic in own)
    assert not any(names.is_own(topic, manager) for topic in of_others)


def test_names_as_they_look() -> None:
    assert names.ledger_topic("QM1") == "mq.QM1.ledger"
    assert names.events_topic("QM1") == "mq.QM1.events"
    assert names.progress_topic("QM1") == "mq.QM1.progress"
    assert names.queue_topic("QM1", "ORDERS.IN") == "mq.QM1.q.ORDERS.IN"
    assert names.queue_topic("QM1", "A_B") == "mq.QM1.q.A-uB"
    assert names.queue_topic("QM1", "A", 2) == "mq.QM1.q.A-2"
    assert names.queue_topic("A.B", "Q") == "mq.A-oB.q.Q"
    assert names.queue_topic("QM1", "Q", prefix="site.mq") == "site.mq.QM1.q.Q"


def test_a_queue_whose_name_looks_like_a_topic() -> None:
    topic = names.queue_topic("QM1", "A.q.B")
    assert names.parse_queue_topic(topic) == ("QM1", "A.q.B", 0)


def test_a_prefix_may_hold_dots() -> None:
    topic = names.queue_topic("QM1", "Q", 3, prefix="a.q.b")
    assert names.parse_queue_topic(topic, prefix="a.q.b") == ("QM1", "Q", 3)


@pytest.mark.parametrize(
    "topic",
    [
        "mq.QM1.ledger",
        "mq.QM1.q.",
        "mq.QM1.Q",
        "other.QM1.q.A",
        "QM1.q.A",
        "mq.QM1.q.A_B",
        "mq.QM1.q.A-0",
        "mq.QM1.q.A-z",
        "mq.QM1.q.A-x41",
        "mq.QM1.q.A-xff",
        "mq.QM1.q.A-",
        "mq.QM1.q.-5",
        "mq.QM1.q.A-oB",
        "mq.QM1.q.A-5-6",
        "mq.Q-dM1-.q.A",
        "mq.QM1.q.A-1\n",
        f"mq.QM1.q.A-{2**63}",
        f"mq.QM1.q.A-{'1' * 230}",
    ],
)
def test_topics_that_are_no_queue(topic: str) -> None:
    with pytest.raises(names.NotAQueueTopic, match="is not the topic of a queue"):
        names.parse_queue_topic(topic)


def test_the_longest_names_fit() -> None:
    longest = names.queue_topic("." * 48, "%" * 48, 10**9)
    assert len(longest) <= names.TOPIC_LENGTH_MAX
