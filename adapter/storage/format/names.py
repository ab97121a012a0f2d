"""Names on Kafka, reversibly escaped to its alphabet.

Kafka allows letters, digits, `.`, `_` and `-`, but refuses `A_B` beside `A.B`: so `_` is always
escaped, and `.` too in a queue manager's name, where it separates. `-` and a letter is an escape;
`-` and digits marks the incarnation of a queue that was deleted and defined again.
"""

from __future__ import annotations

import re

PREFIX = "mq"
TOPIC_LENGTH_MAX = 249  # Kafka's own limit
INCARNATION_MAX = 2**63 - 1

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.")
_ESCAPES = {"_": "-u", "-": "-d", "/": "-s", "%": "-p"}
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()} | {"-o": "."}
_QUEUE_TOPIC = re.compile(r"(?P<manager>[^.]+)\.q\.(?P<queue>.+)", re.DOTALL)
_INCARNATION = re.compile(r"-([1-9][0-9]*)\Z")
_HEX_ESCAPE = re.compile(r"(?:-x[0-9a-f]{2})+")


class NotAQueueTopic(ValueError):  # noqa: N818 -- it says what the name is not
    """The topic's name is not that of a queue's topic."""


def escape(name: str, *, dots: bool = False) -> str:
    """Escape a name to Kafka's alphabet; dots=True escapes those too."""
    return "".join(_escape(character, dots) for character in name)


def _escape(character: str, dots: bool) -> str:
    if character == "." and dots:
        return "-o"
    if character in _PLAIN:
        return character
    short = _ESCAPES.get(character)
    return short or "".join(f"-x{byte:02x}" for byte in character.encode())


def unescape(text: str, *, dots: bool = False) -> str:
    """Undo escape with these dots; ValueError for what that never writes, as nothing is."""
    parts = re.split(r"(-.)", _HEX_ESCAPE.sub(_unhex, text))
    name = "".join(_UNESCAPES.get(part, part) for part in parts)
    if not name or text != escape(name, dots=dots):
        raise ValueError(f"{text!r} is not how any name is written")
    return name


def _unhex(match: re.Match[str]) -> str:
    text = bytes.fromhex(match[0].replace("-x", "")).decode()
    return "".join(_escape(c, False) if c in "-_/%" else c for c in text)


def own_prefix(queue_manager: str, prefix: str = PREFIX) -> str:
    """Return how the names of all topics and transactional ids of a queue manager begin.

    Those of no other queue manager begin so: a dot in its name would be escaped.
    """
    return f"{prefix}.{escape(queue_manager, dots=True)}."


def feed_group(queue_manager: str, feed: str) -> str:
    """Name the consumer group under which the positions of a feed are shown."""
    return f"mqk-{queue_manager}-{feed}"


def ledger_topic(queue_manager: str, prefix: str = PREFIX) -> str:
    """Name the topic of the queue manager's ledger."""
    return f"{prefix}.{escape(queue_manager, dots=True)}.ledger"


def parse_ledger_topic(topic: str, prefix: str = PREFIX) -> str | None:
    """Return the queue manager whose ledger a topic is; None if it is another kind of topic."""
    parts = topic.split(".")
    if parts[:1] + parts[2:] != [prefix, "ledger"]:
        return None
    try:
        return unescape(parts[1], dots=True)
    except ValueError:
        return None


def queue_topic(queue_manager: str, queue: str, incarnation: int = 0, prefix: str = PREFIX) -> str:
    """Name the topic of a queue: partition p holds lane p."""
    suffix = f"-{incarnation}" if incarnation else ""
    return f"{prefix}.{escape(queue_manager, dots=True)}.q.{escape(queue)}{suffix}"


def events_topic(queue_manager: str, prefix: str = PREFIX) -> str:
    """Name the topic of the queue manager's events."""
    return f"{prefix}.{escape(queue_manager, dots=True)}.events"


def snapshots_topic(queue_manager: str, prefix: str = PREFIX) -> str:
    """Name the topic of a queue manager's snapshots."""
    return f"{prefix}.{escape(queue_manager, dots=True)}.snapshots"


def progress_topic(queue_manager: str, prefix: str = PREFIX) -> str:
    """Name the topic of the movers' progress."""
    return f"{prefix}.{escape(queue_manager, dots=True)}.progress"


def export_topic(queue_manager: str, export: str, prefix: str = PREFIX) -> str:
    """Name the topic of an export's progress."""
    return f"{prefix}.{escape(queue_manager, dots=True)}.export.{escape(export)}"


DIRECTORY_TOPIC = f"{PREFIX}.directory"
"""Who is reached where: one topic for all queue managers of a Kafka."""


def inbound_topic(queue_manager: str, source: str = "", prefix: str = PREFIX) -> str:
    """Name the topic by which a queue manager is sent messages.

    source: the queue manager that sends them; "": any Kafka client.
    """
    own = f"{prefix}.{escape(queue_manager, dots=True)}.in"
    return f"{own}.{escape(source, dots=True)}" if source else own


def parse_inbound_topic(topic: str, prefix: str = PREFIX) -> str | None:
    """Return the source of an inbound topic, "" if it is any client; None if it is no such topic.

    Queue managers' names have no plain dot in them there.
    """
    parts = topic.split(".")
    if parts[:1] + parts[2:3] != [prefix, "in"] or len(parts) > 4:
        return None
    try:
        return unescape(parts[3], dots=True) if len(parts) == 4 else ""
    except ValueError:
        return None


def is_own(topic: str, queue_manager: str, prefix: str = PREFIX) -> bool:
    """Whether a topic is one of a queue manager's that only the queue manager itself writes.

    Others write the inbound ones, before it has ever run and after its end too.
    """
    begins_so = topic.startswith(own_prefix(queue_manager, prefix))
    return begins_so and parse_inbound_topic(topic, prefix) is None


def parse_queue_topic(topic: str, prefix: str = PREFIX) -> tuple[str, str, int]:
    """Return (queue manager, queue, incarnation) of a queue's topic; NotAQueueTopic otherwise."""
    rest = topic.removeprefix(f"{prefix}.")
    match = _QUEUE_TOPIC.fullmatch(rest)
    if match is None or rest == topic:
        raise NotAQueueTopic(f"{topic!r} is not the topic of a queue")
    queue, mark = match["queue"], _INCARNATION.search(match["queue"])
    if mark:
        queue = queue[: mark.start()]
    try:
        incarnation = int(mark[1]) if mark else 0
        if incarnation > INCARNATION_MAX:
            raise ValueError(f"no queue has the incarnation {incarnation}")
        found = unescape(match["manager"], dots=True), unescape(queue), incarnation
        if queue_topic(*found, prefix=prefix) != topic:
            raise ValueError(f"the topic of that queue is {queue_topic(*found, prefix=prefix)!r}")
    except ValueError as error:
        raise NotAQueueTopic(f"{topic!r} is not the topic of a queue: {error}") from error
    return found
