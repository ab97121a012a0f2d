"""The soak in short: what `make soak` does hundreds of times, once each."""

from adapter.localkafka import LocalKafka
from tests.soak.soaking import Plan, soak


def test_nothing_is_lost_doubled_or_reordered_through_a_few_kills(
    killable_kafka: LocalKafka,
) -> None:
    plan = Plan(brokers=1, kills=3, in_transaction=1, broker_kills=1, seed=7)
    counts = soak(killable_kafka, plan, print)
    print(counts)
    assert counts.requests_held == 2
    assert counts.replies_held == 1
    assert counts.in_transaction == 1
    assert counts.leaders == 1
