"""Authority and channel authentication records as a script that sets them again.

Records of dynamic queues are left out, as these queues are. This module does not know which record
counts.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from adapter.administration import authorities, channel_rules
from adapter.administration.mqsc.text import quote
from adapter.administration.mqsc.written import Problem, command, is_one_line, left_out, write_list
from adapter.client.connection import Connection
from adapter.core.contract.authorities import QUEUE, QUEUE_MANAGER, AuthorityRecord
from adapter.core.contract.channel_rules import ChannelRule
from adapter.errors import NotAuthorized

NOT_SHOWN = "who may not display the queue manager (dsp) does not see them"


def authority_records(qm: Connection, dynamic: Container[str]) -> Iterator[str | Problem]:
    """Write SET AUTHREC for each record. dynamic: names of queues whose records are left out."""
    try:
        found = qm.authorities().records
    except NotAuthorized:
        yield from left_out(f"authority records: {NOT_SHOWN}")
        return
    for one in found:
        if one.object_type == QUEUE and one.profile in dynamic:
            continue
        yield from _authority(one)


def _authority(one: AuthorityRecord) -> Iterator[str | Problem]:
    of = f"authority record {one.profile} of {one.entity}"
    problem = _problem([one.profile, one.entity])
    if problem:
        yield from left_out(f"{of} {problem}")
        return
    profile = [] if one.object_type == QUEUE_MANAGER else [f"PROFILE({quote(one.profile)})"]
    words = authorities.words_shown(one.object_type, one.bits)
    lines = [
        "SET AUTHREC",
        *profile,
        f"OBJTYPE({one.object_type.upper()})",
        f"{'GROUP' if one.is_group else 'PRINCIPAL'}({quote(one.entity)})",
        f"AUTHADD({', '.join(words)})",
    ]
    yield from command(of, lines)


def channel_records(qm: Connection) -> Iterator[str | Problem]:
    """Write SET CHLAUTH for each record."""
    try:
        found = qm.channel_rules().rules
    except NotAuthorized:
        yield from left_out(f"channel authentication records: {NOT_SHOWN}")
        return
    for one in found:
        yield from _channel_record(one)


def _channel_record(one: ChannelRule) -> Iterator[str | Problem]:
    of = f"channel authentication record {one.profile} {one.kind}"
    texts = {word: getattr(one, name) for word, name in channel_rules.FIELDS.items()}
    lists = {word: getattr(one, name) for word, name in channel_rules.LISTED.items()}
    problem = _problem(
        [one.profile, *texts.values(), *(x for some in lists.values() for x in some)]
    )
    for word, value in texts.items():
        most = channel_rules.RULE[word].attribute.length
        if not problem and most is not None and len(value) > most:
            problem = f"has more than {most} characters in {word}"
    if problem:
        yield from left_out(f"{of} {problem}")
        return
    lines = [f"SET CHLAUTH({quote(one.profile)})", f"TYPE({one.kind})"]
    lines += [f"{word}({quote(value)})" for word, value in texts.items() if value]
    lines += [write_list(word, values) for word, values in lists.items() if values]
    if not one.kind.startswith("BLOCK"):
        lines += [f"USERSRC({one.source})"]
        lines += [f"CHCKCLNT({one.check_client})"] if one.check_client != "ASQMGR" else []
    lines += ["WARN(YES)"] if one.warn else []
    yield from command(of, [*lines, "ACTION(REPLACE)"])


def _problem(values: list[str]) -> str:
    """Say why values cannot be read again as they are; "" if they can."""
    if not all(map(is_one_line, values)):
        return "has a line break"
    if any(value != value.strip() for value in values):
        return "has a value with blanks at its end"
    return ""
