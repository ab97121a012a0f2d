"""Names of queues of MSMQ: path names and format names, and what each means.

A path name is COMPUTER\\private$\\NAME, with . for the caller's computer; DIRECT=OS: before it
makes it a format name. Case does not count. Behind a queue's name may come ;journal or
;SUBQUEUE. This module does not know which queues there are.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.topic_names import TOPIC_NAME_MAX, topic_length

NAME_LENGTH_MAX: Final = 124
SUBQUEUE_LENGTH_MAX: Final = 32
NAMES_MAX: Final = 64
"""Queues that one send may go to."""
TEXT_MAX: Final = NAMES_MAX * 512
JOURNAL: Final = "journal"
SYSTEM: Final = "system$"
DEAD_LETTERS: Final = f"{SYSTEM};deadletter"
TRANSACTIONAL_DEAD_LETTERS: Final = f"{SYSTEM};deadxact"
COMPUTER_JOURNAL: Final = f"{SYSTEM};journal"
SYSTEM_QUEUES: Final = (DEAD_LETTERS, TRANSACTIONAL_DEAD_LETTERS, COMPUTER_JOURNAL)

_PATHS: Final = {
    "deadletter$": DEAD_LETTERS,
    "xactdeadletter$": TRANSACTIONAL_DEAD_LETTERS,
    "journal$": COMPUTER_JOURNAL,
}
"""How System.Messaging names the queues of a computer."""
_WRITTEN: Final = "DIRECT=OS:"
"""How format names begin that this module writes."""
_NOT_OF_MQ: Final = "\\;$"
"""What names of queues of MQ do not have."""
_DIRECT: Final = "direct="
_UNSUPPORTED: Final = ("public=", "private=", "machine=", "dl=", "multicast=", "connector=")
_UNSUPPORTED_DIRECT: Final = ("http:", "https:", "com:")
_NAME: Final = re.compile(r'[^\\;+,"\x00-\x1f]+')


class FormatName(Struct, frozen=True):
    """What a name means. computer: in the case of the name; queue: the key of the queue there, in
    lower case: private$\\name, perhaps with ;journal or ;subqueue. of_mq: the queue of MQ that it
    means if MSMQ has none: of a name without private$, in its case.
    """

    computer: str
    queue: str
    of_mq: str = ""

    @property
    def base(self) -> str:
        """The key of the queue without what follows a semicolon."""
        return self.queue.partition(";")[0]

    @property
    def part(self) -> str:
        """The subqueue, journal or system queue that it names; or empty."""
        return self.queue.partition(";")[2]

    @property
    def text(self) -> str:
        """The format name."""
        return f"{_WRITTEN}{self.computer}\\{self.of_mq or self.queue}"


def is_written_name(text: str) -> bool:
    """Whether a text begins as the format names do that this module writes."""
    return text[: len(_WRITTEN)].casefold() == _WRITTEN.casefold()


def fold(text: str) -> str:
    """Return a format name as all spellings of it are alike: the case of a computer and of a queue
    of MSMQ does not count, that of a queue of MQ does. Wildcards stay; other texts are returned as
    they are.
    """
    if not is_written_name(text):
        return text
    computer, slash, path = text[len(_WRITTEN) :].partition("\\")
    path = path if set(path).isdisjoint(_NOT_OF_MQ) else path.lower()
    return _WRITTEN + fold_computer(computer) + slash + path


def fold_computer(name: str) -> str:
    """Return the name of a computer as all spellings of it are alike: by this one is known."""
    return name.casefold()


def same_computer(one: str, other: str) -> bool:
    """Whether two names mean the same computer."""
    return fold_computer(one) == fold_computer(other)


def is_computer(text: str) -> bool:
    """Whether a text can name a computer: also as its queues are named, which may be longer."""
    length = max(topic_length(text), topic_length(fold_computer(text)))
    return length <= NAME_LENGTH_MAX and _NAME.fullmatch(text) is not None


def is_format_name(text: str) -> bool:
    """Whether a text is a format name of any kind, also of one that is not supported, and not a
    path name.
    """
    return text.casefold().startswith((_DIRECT, *_UNSUPPORTED))


def parse_all(text: str, computer: str) -> list[FormatName]:
    """Parse one name, or several separated by commas. computer: the caller's."""
    if len(text) > TEXT_MAX or text.count(",") >= NAMES_MAX:
        raise _illegal(text[:NAME_LENGTH_MAX], f"at most {NAMES_MAX} names, separated by commas")
    return [parse(name.strip(), computer) for name in text.split(",")]


def parse(text: str, computer: str) -> FormatName:
    """Parse a path name or a format name; computer: the caller's, which . means."""
    name = text
    if name[:11].casefold() == "formatname:":
        name = name[11:]
    low = name.casefold()
    if low.startswith(_UNSUPPORTED):
        raise _unsupported(text)
    if low.startswith(_DIRECT):
        low, name = low[len(_DIRECT) :], name[len(_DIRECT) :]
        if low.startswith(_UNSUPPORTED_DIRECT):
            raise _unsupported(text)
        protocol, colon, name = name.partition(":")
        if protocol.casefold() not in ("os", "tcp") or not colon:
            raise _illegal(text, "DIRECT= is followed by OS: or TCP:")
    host, slash, path = name.partition("\\")
    if not slash or not is_computer(host):
        raise _illegal(text, "a name is COMPUTER\\private$\\NAME, or .\\private$\\NAME")
    key = _key(text, path.lower())
    of_mq = path if set(path).isdisjoint(_NOT_OF_MQ) else ""
    return FormatName(computer if host == "." else host, key, of_mq)


def _key(text: str, path: str) -> str:
    if path in _PATHS:
        return _PATHS[path]
    if path in SYSTEM_QUEUES:
        return path
    path = re.sub(r"\\journal\$$", ";" + JOURNAL, path)
    base, semicolon, part = path.partition(";")
    prefix, slash, name = base.rpartition("\\")
    if slash and prefix != "private$":
        raise _illegal(text, "a private queue is COMPUTER\\private$\\NAME")
    if len(name) > NAME_LENGTH_MAX or not _NAME.fullmatch(name) or name.endswith("$"):
        most = f"a queue's name has 1 to {NAME_LENGTH_MAX} characters"
        raise _illegal(text, f'{most}, without \\ ; + , " and control characters')
    if semicolon and (len(part) > SUBQUEUE_LENGTH_MAX or not _NAME.fullmatch(part)):
        raise _illegal(text, f"a subqueue's name has 1 to {SUBQUEUE_LENGTH_MAX} characters")
    if topic_length(path) > TOPIC_NAME_MAX:
        raise _illegal(text, "it has too many characters other than a-z, 0-9 and '.'")
    return path


def _illegal(text: str, detail: str) -> Refusal:
    return Refusal(Reason.ILLEGAL_QUEUE_PATH, text, detail)


def _unsupported(text: str) -> Refusal:
    return Refusal(Reason.UNSUPPORTED_FORMAT_NAME, text, "use DIRECT=OS:COMPUTER\\private$\\NAME")
