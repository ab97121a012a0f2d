"""SET_CHLAUTH_REC and INQUIRE_CHLAUTH_RECS. This module does not know which record counts."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from adapter.administration import channel_rules
from adapter.administration.pcf.arguments import Arguments
from adapter.administration.pcf.structures import Integer, Parameter, PcfError, String, Strings
from adapter.client.connection import Connection
from adapter.core.contract.channel_rules import ChannelRule
from adapter.errors import ObjectNotFound

Replies = list[list[Parameter]]
SET, INQUIRE = 203, 204
"""MQCMD_*."""
CHANNEL_NAME, ATTRIBUTES = 3501, 1352
NOT_FOUND = 3338  # MQRCCF_CHLAUTH_NOT_FOUND
TYPE_ERROR = 3326  # MQRCCF_CHLAUTH_TYPE_ERROR
NOT_TOGETHER = 3203  # MQRCCF_PARM_CONFLICT
TOO_FEW = 3019  # MQRCCF_PARM_COUNT_TOO_SMALL
CHANNEL_NAME_LENGTH = 20
CHLAUTH_ATTRIBUTES = 1355  # MQIACF_CHLAUTH_ATTRS
log = structlog.get_logger("mqk.commands")


def _set(qm: Connection, given: Arguments) -> Replies:
    channel = given.text(CHANNEL_NAME).strip()
    values = given.check(channel_rules.RULE)
    lacking = channel_rules.missing(values)
    if lacking:
        reason = TYPE_ERROR if lacking == "TYPE" else TOO_FEW
        raise PcfError(reason, f"SET CHLAUTH needs {lacking}")
    try:
        counts = channel_rules.change(qm, channel, values)
    except ObjectNotFound as missing:
        raise PcfError(NOT_FOUND, missing.text) from missing
    if not counts:
        log.warning(channel_rules.NOT_CHECKED, channel=channel)
    return [[]]


def _inquire(qm: Connection, given: Arguments) -> Replies:
    channel = given.text(CHANNEL_NAME, "*").strip()
    given.drop(CHLAUTH_ATTRIBUTES)
    values = given.check(channel_rules.SHOWN)
    other = channel_rules.pointless(values)
    if other:
        number = channel_rules.SHOWN[other].attribute.number
        raise PcfError(NOT_TOGETHER, f"{other} is given with MATCH(RUNCHECK) only", number)
    found = channel_rules.find(qm, channel, values)
    if not found:
        raise PcfError(NOT_FOUND, "no channel authentication record fits")
    return [_shown(one) for one in found]


def _shown(rule: ChannelRule) -> list[Parameter]:
    rows = channel_rules.RULE
    reply: list[Parameter] = [
        String(CHANNEL_NAME, rule.profile, CHANNEL_NAME_LENGTH),
        Integer(rows["TYPE"].attribute.number, channel_rules.TYPES[rule.kind]),
        Integer(rows["WARN"].attribute.number, int(rule.warn)),
    ]
    for keyword, name in channel_rules.FIELDS.items():
        value = getattr(rule, name)
        if value:
            reply.append(String(rows[keyword].attribute.number, value, 0))
    for keyword, name in channel_rules.LISTED.items():
        values = getattr(rule, name)
        if values:
            reply.append(
                Strings(rows[keyword].attribute.number, tuple(values), max(map(len, values)))
            )
    if not rule.kind.startswith("BLOCK"):
        number = rows["USERSRC"].attribute.number
        reply.append(Integer(number, channel_rules.SOURCES[rule.source]))
        number = rows["CHCKCLNT"].attribute.number
        reply.append(Integer(number, channel_rules.CHECKS[rule.check_client]))
    return reply


COMMANDS: dict[int, Callable[[Connection, Arguments], Replies]] = {SET: _set, INQUIRE: _inquire}
ASKS = frozenset({INQUIRE})
"""Commands that change nothing."""
