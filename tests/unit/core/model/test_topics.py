"""A topic finds the subscriptions that mean it, as if each were looked at; and no others."""

from hypothesis import example, given
from hypothesis import strategies as st

from adapter.core.contract.topic_strings import LevelNode, Matcher, has_wildcards, means
from adapter.core.model.topics import SubscriptionState, Topics

WORDS = st.sampled_from(["", "a", "b", "a#", "+b"])
TOPICS = st.lists(WORDS, min_size=1, max_size=5).map("/".join)
PATTERNS = st.lists(
    st.one_of(WORDS, st.sampled_from(["#", "+", "+", "#"])), min_size=1, max_size=5
).map("/".join)


Level = LevelNode[int]


def naive(pattern: list[str], topic: list[str]) -> bool:
    """What the manual says, level by level."""
    if not pattern:
        return not topic
    first, *rest = pattern
    if first == "#":
        return naive(rest, topic) or (bool(topic) and naive(pattern, topic[1:]))
    return bool(topic) and first in ("+", topic[0]) and naive(rest, topic[1:])


@given(st.lists(PATTERNS, max_size=12), st.sets(st.integers(0, 11)), TOPICS)
@example(["#/a/#/b", "a/+", "#"], {2}, "a/b")
@example(["a/#", "a", "+/#"], set(), "a")
def test_a_topic_finds_what_each_pattern_means(
    patterns: list[str], removed: set[int], topic: str
) -> None:
    matcher: Matcher[int] = Matcher()
    for number, pattern in enumerate(patterns):
        matcher.add(pattern, str(number), number)
    for number in removed & set(range(len(patterns))):
        matcher.remove(patterns[number], str(number))
    expected = [
        number
        for number, pattern in enumerate(patterns)
        if number not in removed and naive(pattern.split("/"), topic.split("/"))
    ]
    assert sorted(matcher.matching(topic)) == expected


@given(st.lists(PATTERNS, max_size=8))
def test_nothing_is_left_of_what_was_removed(patterns: list[str]) -> None:
    matcher: Matcher[int] = Matcher()
    for number, pattern in enumerate(patterns):
        matcher.add(pattern, str(number), number)
    for number, pattern in enumerate(patterns):
        matcher.remove(pattern, str(number))
    assert not matcher._root.below


@given(PATTERNS, TOPICS)
def test_a_pattern_means_what_a_matcher_of_it_finds(pattern: str, topic: str) -> None:
    assert means(pattern, topic) is (
        pattern == topic or naive(pattern.split("/"), topic.split("/"))
    )


def test_levels_that_only_contain_a_wildcard_are_none() -> None:
    assert not has_wildcards("a#/+b//c")
    assert has_wildcards("a/+")
    assert has_wildcards("#")


def test_a_publication_may_have_such_levels_and_means_itself() -> None:
    matcher: Matcher[str] = Matcher()
    matcher.add("a/b", "1", "a/b")
    matcher.add("a/+", "2", "a/+")
    assert matcher.matching("a/+") == ["a/+"]
    assert matcher.matching("a/#") == ["a/+"]


def test_not_every_subscription_is_looked_at() -> None:
    """A tree of 10,000 subscriptions; a topic looks at the levels on its way only."""
    matcher: Matcher[int] = Matcher()
    for number in range(10_000):
        matcher.add(f"stocks/{number}/price", str(number), number)
    looked: list[str] = []

    class Noting(dict[str, Level]):
        def get(self, key: str, _: object = None) -> Level | None:  # type: ignore[override]
            looked.append(key)
            return super().get(key)

    matcher._root.below["stocks"].below = Noting(matcher._root.below["stocks"].below)
    assert matcher.matching("stocks/4711/price") == [4711]
    assert len(looked) < 5


def test_a_named_subscription_is_found_by_its_name() -> None:
    topics = Topics()
    one = SubscriptionState(
        ident=bytes(24), name="S", topic="a/#", destination="Q", is_managed=False, is_durable=True
    )
    topics.add(one)
    assert topics.named == {"S": one}
    assert topics.matcher.matching("a/b") == [one]
    topics.remove(one)
    assert not topics.named
    assert topics.matcher.matching("a/b") == []
