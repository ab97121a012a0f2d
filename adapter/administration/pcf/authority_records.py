"""SET_AUTH_REC, DELETE_AUTH_REC, INQUIRE_AUTH_RECS, INQUIRE_ENTITY_AUTH and REFRESH_SECURITY.

This module does not know what an authority is needed for.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from adapter.administration import authorities
from adapter.administration.pcf.arguments import Arguments
from adapter.administration.pcf.structures import Integer, Integers, Parameter, PcfError, String
from adapter.client.connection import Connection
from adapter.core.contract.authorities import AuthorityRecord
from adapter.core.contract.authority_commands import Selection

Replies = list[list[Parameter]]
REFRESH, INQUIRE, INQUIRE_ENTITY, DELETE, SET = 78, 87, 88, 89, 90
"""MQCMD_*."""
OBJECT_TYPE, PROFILE, ENTITY, ENTITY_TYPE, OBJECT_NAME = 1016, 3067, 3068, 1118, 3046
OPTIONS, ATTRIBUTES, AUTHORITY_LIST, COMPONENT, QMGR_NAME = 1228, 1114, 1115, 3069, 2015
NAME_LENGTH, ENTITY_LENGTH = 48, 0
EVERY_TYPE = 1001  # MQOT_ALL
EXPLICIT, MATCHING, WILDCARD, ENTITY_SET = 16, 32, 64, 2
"""MQAUTHOPT_NAME_EXPLICIT, _NAME_ALL_MATCHING, _NAME_AS_WILDCARD, _ENTITY_SET."""
NOT_FOUND = 2085
TYPE_ERROR = 3160  # MQRCCF_OBJECT_TYPE_WRONG
MISSING = {
    "OBJTYPE": 3173,  # MQRCCF_OBJECT_TYPE_MISSING
    "PROFILE": 3347,  # MQRCCF_PROFILE_NAME_MISSING
    "GROUP or PRINCIPAL": 3169,  # MQRCCF_ENTITY_NAME_MISSING
    "AUTHADD or AUTHRMV": 3172,  # MQRCCF_AUTH_VALUE_MISSING
}
"""Why a command lacks a parameter."""
log = structlog.get_logger("mqk.commands")
TYPES = {number: word.lower() for word, number in authorities.OBJECT_TYPES.items()}


def _change(verb: str) -> Callable[[Connection, Arguments], Replies]:
    def do(qm: Connection, given: Arguments) -> Replies:
        values = given.check(authorities.RECORD)
        lacking = authorities.missing(verb, values)
        if lacking:
            raise PcfError(MISSING[lacking], f"{verb} AUTHREC needs {lacking}")
        profile = authorities.change(qm, verb, values)
        if not authorities.are_checked(qm):
            log.warning(authorities.NOT_CHECKED, profile=profile)
        return [[]]

    return do


def _inquire(qm: Connection, given: Arguments) -> Replies:
    """The records of a profile, or those that mean an object of this name."""
    options = given.whole(OPTIONS, EXPLICIT)
    profile, object_type = given.text(PROFILE, "").strip(), _type(given)
    entity, entity_type = given.text(ENTITY, "").strip(), given.whole(ENTITY_TYPE, 0)
    given.drop(ATTRIBUTES, COMPONENT)
    given.finish()
    is_group = entity_type == authorities.GROUP
    if options & WILDCARD and profile in ("*", "**"):
        profile = ""
    of: Selection = "records"
    if options & MATCHING:
        of = "members" if options & ENTITY_SET else "matching"
    found = qm.authorities(
        profile,
        object_type,
        user="" if is_group else entity,
        group=entity if is_group else "",
        of=of,
    ).records
    if not found:
        raise PcfError(NOT_FOUND, "no authority record fits", PROFILE)
    return [_shown(qm, one) for one in found]


def _inquire_entity(qm: Connection, given: Arguments) -> Replies:
    """What a user has of an object, by all records that count."""
    given.whole(OPTIONS, 0)
    entity, entity_type = given.text(ENTITY).strip(), given.whole(ENTITY_TYPE)
    object_type = _type(given)
    name = given.text(OBJECT_NAME, "").strip()
    given.drop(ATTRIBUTES, COMPONENT)
    given.finish()
    if not object_type:
        raise PcfError(MISSING["OBJTYPE"], "INQUIRE_ENTITY_AUTH needs an object type", OBJECT_TYPE)
    groups = [entity] if entity_type == authorities.GROUP else []
    found = qm.explain_authority("" if groups else entity, name, object_type, groups=groups)
    record = AuthorityRecord(name or qm.name, object_type, entity, bool(groups), found.bits)
    return [_shown(qm, record, OBJECT_NAME)]


def _refresh(qm: Connection, given: Arguments) -> Replies:
    """Records count as soon as they change, and for what is open by this."""
    given.check(authorities.SECURITY)
    qm.refresh_security()
    return [[]]


def _type(given: Arguments) -> str:
    number = given.whole(OBJECT_TYPE, EVERY_TYPE)
    if number == EVERY_TYPE:
        return ""
    if number not in TYPES:
        raise PcfError(TYPE_ERROR, f"invalid object type {number}", OBJECT_TYPE)
    return TYPES[number]


def _shown(qm: Connection, one: AuthorityRecord, name: int = PROFILE) -> list[Parameter]:
    entity_type = authorities.GROUP if one.is_group else authorities.PRINCIPAL
    return [
        String(QMGR_NAME, qm.name, NAME_LENGTH),
        String(name, one.profile, NAME_LENGTH if len(one.profile) <= NAME_LENGTH else 0),
        Integer(OBJECT_TYPE, authorities.OBJECT_TYPES[one.object_type.upper()]),
        String(ENTITY, one.entity, ENTITY_LENGTH),
        Integer(ENTITY_TYPE, entity_type),
        Integers(AUTHORITY_LIST, authorities.numbers_shown(one.object_type, one.bits)),
    ]


COMMANDS: dict[int, Callable[[Connection, Arguments], Replies]] = {
    REFRESH: _refresh,
    INQUIRE: _inquire,
    INQUIRE_ENTITY: _inquire_entity,
    DELETE: _change("DELETE"),
    SET: _change("SET"),
}
ASKS = frozenset({INQUIRE, INQUIRE_ENTITY})
"""Commands that change nothing."""
