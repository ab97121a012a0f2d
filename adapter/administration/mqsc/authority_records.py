"""SET, DELETE and DISPLAY AUTHREC, and REFRESH SECURITY.

This module does not know what an authority is needed for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from adapter.administration import authorities
from adapter.administration.mqsc import answers, meaning
from adapter.administration.mqsc.statement import Statement
from adapter.administration.mqsc.text import NotMqscError, RefusedError
from adapter.administration.without_effect import ONE_EACH
from adapter.client.connection import Connection

SET_DONE, DELETE_DONE, DETAILS, SECURITY_DONE = 8862, 8863, 8864, 8560


def change(qm: Connection, statement: Statement) -> Iterator[str]:
    """SET AUTHREC, DELETE AUTHREC."""
    given = meaning.check_parameters(authorities.RECORD, _with_profile(statement))
    lacking = authorities.missing(statement.verb, given)
    if lacking:
        raise NotMqscError(f"{statement.verb} AUTHREC needs {lacking}", statement.kind)
    profile = authorities.change(qm, statement.verb, given)
    number, done = (SET_DONE, "set") if statement.verb == "SET" else (DELETE_DONE, "deleted")
    of = f"authority record {profile}".rstrip()
    if authorities.are_checked(qm):
        yield answers.message(number, "I", f"{of} {done}.")
    else:
        yield answers.message(number, "W", f"{of} {done}; {authorities.NOT_CHECKED}.")


def display(qm: Connection, statement: Statement) -> Iterator[str]:
    """DISPLAY AUTHREC: each record under a heading of its own."""
    shown = _with_profile(statement)
    kept = tuple(one for one in shown.parameters if one.keyword not in authorities.SHOWN_WORDS)
    asked = replace(shown, parameters=kept)
    given = meaning.check_parameters(authorities.SHOWN, asked, ONE_EACH)
    found = authorities.find(qm, given)
    if not found:
        raise RefusedError(answers.nothing_fits("authority record"))
    for one in found:
        words = ",".join(authorities.words_shown(one.object_type, one.bits))
        cells = [
            f"PROFILE({one.profile})",
            f"ENTITY({one.entity})",
            f"ENTTYPE({'GROUP' if one.is_group else 'PRINCIPAL'})",
            f"OBJTYPE({one.object_type.upper()})",
            f"AUTHLIST({words})",
        ]
        yield answers.message(DETAILS, "I", "authority record details:")
        yield from answers.columns(cells)


def _with_profile(statement: Statement) -> Statement:
    """AUTHREC takes its profile as a parameter, and not in parentheses of its own."""
    if statement.name:
        raise NotMqscError("AUTHREC takes no name: give PROFILE(NAME)", statement.name)
    return statement


def refresh(qm: Connection, statement: Statement) -> Iterator[str]:
    """REFRESH SECURITY: records count as soon as they change, and for what is open by this."""
    meaning.check_parameters(authorities.SECURITY, statement)
    count = qm.refresh_security()
    text = f"security is up to date: {count} handles or connections closed."
    yield answers.message(SECURITY_DONE, "I", text)


COMMANDS: dict[tuple[str, str], Callable[[Connection, Statement], Iterator[str]]] = {
    ("SET", "AUTHREC"): change,
    ("DELETE", "AUTHREC"): change,
    ("DISPLAY", "AUTHREC"): display,
    ("REFRESH", "SECURITY"): refresh,
}
