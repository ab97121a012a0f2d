"""SET and DISPLAY CHLAUTH. This module does not know which record counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from adapter.administration import channel_rules
from adapter.administration.mqsc import answers, meaning
from adapter.administration.mqsc.statement import Statement
from adapter.administration.mqsc.text import NotMqscError, RefusedError
from adapter.client.connection import Connection
from adapter.core.contract.channel_rules import ChannelRule

SET_DONE, DETAILS = 8877, 8878
SHOWN_WORDS = frozenset(
    {"ALL", "ALTDATE", "ALTTIME", "USERSRC", "WARN", "CHCKCLNT", "CUSTOM"}
    | channel_rules.FIELDS.keys()
    | channel_rules.LISTED.keys()
)
"""Those of DISPLAY that take no value; they make no difference: all is shown."""


def change(qm: Connection, statement: Statement) -> Iterator[str]:
    """SET CHLAUTH."""
    given = meaning.check_parameters(channel_rules.RULE, statement)
    lacking = channel_rules.missing(given)
    if lacking:
        raise NotMqscError(f"SET CHLAUTH needs {lacking}", statement.kind)
    counts = channel_rules.change(qm, statement.name, given)
    of = f"channel authentication record {statement.name} set"
    if counts:
        yield answers.message(SET_DONE, "I", f"{of}.")
    else:
        yield answers.message(SET_DONE, "W", f"{of}; {channel_rules.NOT_CHECKED}.")


def display(qm: Connection, statement: Statement) -> Iterator[str]:
    """DISPLAY CHLAUTH: each record under a heading of its own."""
    kept = tuple(
        one
        for one in statement.parameters
        if one.keyword not in SHOWN_WORDS or one.values is not None
    )
    given = meaning.check_parameters(channel_rules.SHOWN, replace(statement, parameters=kept))
    other = channel_rules.pointless(given)
    if other:
        raise NotMqscError(f"{other} is given with MATCH(RUNCHECK) only", other)
    found = channel_rules.find(qm, statement.name, given)
    if not found:
        raise RefusedError(answers.nothing_fits("channel authentication record"))
    for one in found:
        yield answers.message(DETAILS, "I", "channel authentication record details:")
        yield from answers.columns(list(_cells(one)))


def _cells(rule: ChannelRule) -> Iterator[str]:
    yield f"CHLAUTH({rule.profile})"
    yield f"TYPE({rule.kind})"
    for keyword, name in channel_rules.FIELDS.items():
        value = getattr(rule, name)
        if value:
            yield f"{keyword}({value})"
    if rule.users:
        yield f"USERLIST({','.join(rule.users)})"
    if rule.addresses:
        yield f"ADDRLIST({','.join(rule.addresses)})"
    if not rule.kind.startswith("BLOCK"):
        yield f"USERSRC({rule.source})"
        yield f"CHCKCLNT({rule.check_client})"
    if rule.warn:
        yield "WARN(YES)"


COMMANDS: dict[tuple[str, str], Callable[[Connection, Statement], Iterator[str]]] = {
    ("SET", "CHLAUTH"): change,
    ("DISPLAY", "CHLAUTH"): display,
}
