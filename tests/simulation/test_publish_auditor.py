"""The auditor of publications must be able to say no, and yes to what is right."""

import pytest

from tests.simulation.publish_auditor import Kept, PublishAuditor, Subscription, is_meant

ONE, TWO = Kept("m1", 0, True), Kept("m2", 5, False)


@pytest.fixture
def auditor() -> PublishAuditor:
    """Ann has a subscription of her own queue Q to all below a."""
    auditor = PublishAuditor()
    auditor.queues["Q"] = []
    auditor.subscribed("s", sub("a/#"), retained=True)
    return auditor


def sub(topic: str, queue: str = "Q", *, durable: bool = False) -> Subscription:
    return Subscription(topic, queue, "ann", durable=durable, managed=queue != "Q")


@pytest.mark.parametrize(
    ("pattern", "topic", "meant"),
    [
        ("a/#", "a", True),
        ("#/c", "c", True),
        ("a/+", "a", False),
        ("a/+", "a/b", True),
        ("+", "a/b", False),
        ("a/#/c", "a/b/b/c", True),
        ("a/b", "a/c", False),
    ],
)
def test_what_a_topic_string_means(pattern: str, topic: str, meant: bool) -> None:
    assert is_meant(pattern, topic) is meant


def test_what_is_expected_is_accepted(auditor: PublishAuditor) -> None:
    assert auditor.published("b", ONE) == 0
    assert auditor.published("a", ONE) == 1
    assert auditor.published("a/b", TWO) == 1
    auditor.seen({"Q": ["m2 a/b", "m1 a"]}, 0)
    auditor.took("Q", "m2 a/b")
    auditor.crashed(keeps_soft=False)
    auditor.seen({"Q": ["m1 a"]}, 0)
    assert auditor.published("a", ONE) == 0, "the subscription went with its connection"


@pytest.mark.parametrize("there", [[], ["m1 a", "m1 a"], ["m2 a"], ["m1 a retained"]])
def test_what_is_not_is_refused(auditor: PublishAuditor, there: list[str]) -> None:
    auditor.published("a", ONE)
    with pytest.raises(AssertionError, match="due is"):
        auditor.seen({"Q": there}, 0)
    with pytest.raises(AssertionError, match="due is one of"):
        auditor.took("Q", "m9 a")


def test_copies_in_a_unit_come_at_its_end_or_never(auditor: PublishAuditor) -> None:
    for unit in ("u1", "u2"):
        auditor.begun("ann", unit)
        auditor.published("a", ONE, unit)
    auditor.seen({"Q": []}, 0)
    auditor.backed_out("u1")
    auditor.committed("u2")
    auditor.seen({"Q": ["m1 a"]}, 0)


def test_the_last_retained_one_is_given(auditor: PublishAuditor) -> None:
    auditor.published("b", ONE, retain=True)
    auditor.published("b", TWO, retain=True)
    assert auditor.subscribed("t", sub("#", "T", durable=True), retained=True) == 1
    auditor.seen({"Q": [], "T": ["m2 b retained"]}, 1)
    auditor.crashed(keeps_soft=False)
    auditor.seen({"Q": [], "T": []}, 0)
    auditor.closed("t", remove=True)
    auditor.seen({"Q": []}, 0)
