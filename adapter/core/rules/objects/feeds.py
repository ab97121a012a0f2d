"""Definitions of feeds: what may be said in one, and from where a feed is told to read.

What becomes of the records that are read: core.rules.drive.feeds.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs

from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.contract.commands import Request, SeekFeed
from adapter.core.contract.feeds import time_of
from adapter.core.contract.object_names import SYSTEM
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import FeedSet, ObjectAltered
from adapter.core.model.manager import QueueManager
from adapter.core.model.priority_rules import parse_rules
from adapter.core.model.selector import SelectorError
from adapter.core.rules.network import exports, routes, topic_strings
from adapter.core.rules.primitives.decision import Decision, done

ENDS = ("EARLIEST", "LATEST")
OFFSET_MAX = 2**63 - 1
PLACES_MAX = 10_000
_PLACE = re.compile(r"(\d{1,10}):(\d{1,19})")


def check_new(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    """Refuse what cannot be a feed, and one too many."""
    if len(qm.feeds.by_name) >= qm.limits.feeds:
        raise Refusal(Reason.LIMIT_REACHED, name, f"{qm.limits.feeds} feeds at most")
    _check(qm, name, FeedAttributes(**attributes))


def _check(qm: QueueManager, name: str, feed: FeedAttributes) -> None:
    problem = _problem(qm, feed) or exports.loop_problem(qm, feed)
    if problem:
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, problem)


def check_alteration(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    """Refuse what would make of a feed what cannot be one."""
    feed = qm.objects[FEED, name]
    assert isinstance(feed, FeedAttributes)
    _check(qm, name, structs.replace(feed, **attributes))


def _problem(qm: QueueManager, feed: FeedAttributes) -> str:
    problem = exports.name_problem(qm, feed.topic, "feed from another topic") or _target_problem(
        feed
    )
    if problem:
        return problem
    if feed.begin not in ENDS and time_of(feed.begin) is None:
        return (
            f"begin {feed.begin!r} is not EARLIEST, LATEST, or a time in UTC such as "
            "2026-03-01T08:30:00Z"
        )
    problem = exports.list_problem("headers", feed.headers, "names")
    problem = problem or exports.list_problem("fields", feed.fields, "paths")
    if problem:
        return problem
    if feed.fields != "NONE" and feed.value == "ASIS":
        return "fields are of values that are decoded: set value to AVRO or AVROJSON, or no fields"
    try:
        parse_rules(feed.priority_rules)
    except SelectorError as error:
        return f"invalid priority_rules: {error}"
    return ""


def _target_problem(feed: FeedAttributes) -> str:
    if feed.queue and feed.topic_string:
        return "a feed has a queue or a topic_string, not both: set one of them to nothing"
    if feed.topic_string:
        try:
            topic_strings.check(feed.topic_string)
        except Refusal as refusal:
            return f"topic_string {feed.topic_string[:100]!a}: {refusal.detail}"
        return ""
    if not feed.queue:
        return "a feed has a queue or a topic_string: set one of them"
    if not routes.is_name(feed.queue):
        return f"queue {feed.queue!r} is not a valid name of a queue"
    if feed.queue.startswith(SYSTEM):
        return f"queue {feed.queue} is one of the queue manager; feed another queue"
    return ""


def decide_seek(qm: QueueManager, request: Request, command: SeekFeed) -> Decision:
    """Let a feed read from elsewhere: what was read and not put yet is void."""
    name, to = command.feed, command.to
    state = qm.feeds.by_name.get(name)
    if state is None:
        raise Refusal(Reason.OBJECT_NOT_FOUND, name, FEED)
    if to in ENDS or time_of(to) is not None:
        return done(qm, request, [FeedSet(name, to, "", [])])
    offsets = state.offsets | _places(name, to, state.offsets)
    positions = [part for place in sorted(offsets.items()) for part in place]
    return done(qm, request, [FeedSet(name, state.begin, state.topic_id, positions)])


def _places(name: str, text: str, known: dict[int, int]) -> dict[int, int]:
    parts = text.split(",", PLACES_MAX)
    matches = [_PLACE.fullmatch(part.strip()) for part in parts]
    places = {int(one[1]): int(one[2]) for one in matches if one is not None}
    if None in matches or len(places) < len(parts) or max(places.values()) > OFFSET_MAX:
        wanted = "EARLIEST, LATEST, a time in UTC such as 2026-03-01T08:30:00Z, or partition:offset"
        raise Refusal(
            Reason.OPTIONS_ERROR, name, f"{text[:100]!r} is no place to read from: use {wanted}"
        )
    unknown = sorted(places.keys() - known.keys())
    if unknown:
        read = f"it has read {', '.join(map(str, sorted(known)))}" if known else "it has read none"
        raise Refusal(
            Reason.OPTIONS_ERROR, name, f"the feed knows no partition {unknown[0]}: {read}"
        )
    return places


def apply_feed_set(qm: QueueManager, record: FeedSet) -> None:
    """Set from where a feed reads."""
    state = qm.feeds.renew(record.feed)
    state.begin, state.topic_id = record.begin, record.topic_id
    state.offsets = dict(zip(record.positions[::2], record.positions[1::2], strict=True))


def note_alteration(qm: QueueManager, record: ObjectAltered) -> None:
    """Void what was read for a feed that is about to be altered; of another topic nothing was."""
    feed = qm.objects[FEED, record.name]
    assert isinstance(feed, FeedAttributes)
    if record.attributes.get("topic", feed.topic) == feed.topic:
        qm.feeds.renew(record.name)
    else:
        qm.feeds.define(record.name)
