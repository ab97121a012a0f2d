"""Channel authentication records: setting and showing them, and who may come by a channel.

They are asked at the connect, if CHLAUTH of the queue manager is ENABLED: first whether the address
is blocked, then as which user the client counts, then whether that user is blocked. What comes over
a Unix-domain socket, or within the process, comes by no channel. This module does not know what a
user may do then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

import msgspec

from adapter.core.contract.authorities import CHANGE, QUEUE_MANAGER, Denial
from adapter.core.contract.channel_rules import (
    ADMINISTRATORS,
    DEFAULT_CHANNEL,
    Action,
    ChannelRule,
    ChannelRuleSet,
    InquireChannelRules,
    SetChannelRule,
    problem_with,
)
from adapter.core.contract.commands import Request
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.results import ChannelRulesFound
from adapter.core.model.channel_rules import Caller, fits, names_of
from adapter.core.model.manager import QueueManager
from adapter.core.rules.primitives.access import Asker
from adapter.core.rules.primitives.decision import Decision, done

CONNECT: Final = "Connect"
LISTS: Final = ("users", "addresses")


def decide_set(qm: QueueManager, request: Request, command: SetChannelRule) -> Decision:
    """SET CHLAUTH."""
    if command.action not in get_args(Action):
        text = f"{command.action!r} is no action: use {', '.join(get_args(Action))}"
        raise Refusal(Reason.OPTIONS_ERROR, command.profile, text)
    there = meant(qm, command)
    if command.action == "REMOVEALL":
        return _done(qm, request, command, [ChannelRuleSet(one, True) for one in there])
    rule, known = _rule_of(command), there[0] if there else None
    if command.action == "REMOVE":
        return _done(qm, request, command, _less(known, rule))
    if command.action == "ADD" and known is not None:
        rule = _with_more(known, rule)
    problem = problem_with(rule)
    if problem:
        raise Refusal(Reason.ATTRIBUTE_ERROR, command.profile, problem)
    most = qm.limits.authority_records
    if known is None and len(qm.channel_rules) >= most:
        text = f"{most} channel authentication records at most"
        raise Refusal(Reason.LIMIT_REACHED, command.profile, text)
    records: list[Record] = [ChannelRuleSet(rule)] if rule != known else []
    return done(qm, request, records)


def meant(qm: QueueManager, command: SetChannelRule) -> list[ChannelRule]:
    """Return the records that a command may change or delete, of those that are there."""
    if command.action != "REMOVEALL":
        known = qm.channel_rules.get(_rule_of(command).key)
        return [] if known is None else [known]
    return [
        one
        for one in qm.channel_rules.every()
        if one.profile == command.profile and command.kind in ("", one.kind)
    ]


def _rule_of(command: SetChannelRule) -> ChannelRule:
    given = msgspec.structs.asdict(command)
    del given["action"]
    return ChannelRule(**given)


def _with_more(known: ChannelRule, rule: ChannelRule) -> ChannelRule:
    """Return a record with what is added to a list; a mapping that is there is in the way."""
    if rule.kind not in ("BLOCKUSER", "BLOCKADDR"):
        text = "a record of this type that maps the same exists: use REPLACE"
        raise Refusal(Reason.OBJECT_EXISTS, rule.profile, text)
    lists = {one: [*getattr(known, one), *getattr(rule, one)] for one in LISTS}
    unique = {name: list(dict.fromkeys(values)) for name, values in lists.items()}
    return msgspec.structs.replace(rule, **unique)


def _less(known: ChannelRule | None, rule: ChannelRule) -> list[ChannelRuleSet]:
    if known is None:
        return []
    left = {
        name: [one for one in getattr(known, name) if one not in getattr(rule, name)]
        for name in LISTS
    }
    if any(left.values()) and any(getattr(rule, name) for name in LISTS):
        return [ChannelRuleSet(msgspec.structs.replace(known, **left))]
    return [ChannelRuleSet(known, True)]


def _done(
    qm: QueueManager, request: Request, command: SetChannelRule, records: list[ChannelRuleSet]
) -> Decision:
    if not records:
        text = "no channel authentication record is of this profile and type"
        raise Refusal(Reason.OBJECT_NOT_FOUND, command.profile, text)
    return done(qm, request, [*records], len(records))


def decide_inquire(qm: QueueManager, request: Request, command: InquireChannelRules) -> Decision:
    """DISPLAY CHLAUTH."""
    if command.is_check:
        caller = Caller(
            command.profile or DEFAULT_CHANNEL,
            command.address,
            command.client_user,
            names_of(command.peer),
            names_of(command.issuer),
            command.queue_manager,
        )
        found = [rule for rule, _ in _counting(qm, caller, None)]
    else:
        found = [
            one
            for one in qm.channel_rules.every()
            if command.profile in ("", one.profile) or fits(command.profile, one.profile)
            if command.kind in ("", one.kind)
        ]
        found.sort(key=lambda one: one.key)
    return Decision([], ChannelRulesFound(found, qm.attributes.channel_rules), qm.entry_n)


def _counting(
    qm: QueueManager, caller: Caller, principal: Principal | None
) -> Iterator[tuple[ChannelRule, bool]]:
    """Return the records that count for who comes, in order, and whether each refuses it.

    What refuses is the last. principal: who it is before these; None: a user of this name.
    """
    rules = qm.channel_rules
    blocking = rules.blocking_address(caller.host)
    if blocking is not None:
        yield blocking, not blocking.warn
        if not blocking.warn:
            return
    user = caller.user
    mapping = rules.mapping(caller)
    if mapping is not None:
        refuses = (mapping.source == "NOACCESS" and not mapping.warn) or _lacks_password(
            qm, mapping, principal
        )
        yield mapping, refuses
        if refuses:
            return
        if mapping.source == "MAP":
            user, principal = mapping.mca_user, None
    users = rules.blocking_user(caller.channel)
    if users is None:
        return
    of = principal or Principal(user, Proof.MAPPED)
    blocks = user in users.users
    if ADMINISTRATORS in users.users and qm.authorities.are_checked:
        blocks = blocks or Asker(qm, 0, of, CONNECT).may(QUEUE_MANAGER, qm.name, CHANGE)
    if blocks:
        yield users, not users.warn


def _lacks_password(qm: QueueManager, rule: ChannelRule, principal: Principal | None) -> bool:
    """Whether a client should have given a password or a token (CHCKCLNT). principal: see above."""
    if rule.check_client == "ASQMGR" or principal is None:
        return False
    if principal.proof in (Proof.PASSWORD, Proof.TOKEN):
        return False
    of = Principal(rule.mca_user, Proof.MAPPED) if rule.source == "MAP" else principal
    return (
        rule.check_client == "REQUIRED"
        or not qm.authorities.are_checked
        or Asker(qm, 0, of, CONNECT).may(QUEUE_MANAGER, qm.name, CHANGE)
    )


def admit(qm: QueueManager, connection: int, party: Party) -> tuple[Party | None, list[Denial]]:
    """Return who a client counts as, or None if it may not connect; and for the log what refuses
    it, and what would if it did not only warn.
    """
    if qm.attributes.channel_rules != "ENABLED" or not party.host:
        return party, []
    channel = party.channel or DEFAULT_CHANNEL
    caller = Caller(channel, party.host, party.user, party.peer, party.issuer)
    admitted: Party | None = party
    noted: list[Denial] = []
    for rule, refuses in _counting(qm, caller, party.principal):
        if refuses or rule.warn or rule.kind.startswith("BLOCK"):
            of = f"{rule.profile} {rule.kind}"
            noted.append(Denial(connection, party.user, CONNECT, "channel rule", of, 0))
        if refuses:
            return None, noted
        if rule.source == "MAP" and rule.mca_user:
            principal = Principal(rule.mca_user, Proof.MAPPED)
            admitted = msgspec.structs.replace(party, principal=principal)
    return admitted, noted


def apply_channel_rule_set(qm: QueueManager, record: ChannelRuleSet) -> None:
    """Take the record, or forget it."""
    if record.is_gone:
        qm.channel_rules.remove(record.rule.key)
    else:
        qm.channel_rules.set(record.rule)


def describe(qm: QueueManager) -> Iterator[Record]:
    """Describe all records for a snapshot."""
    for one in qm.channel_rules.every():
        yield ChannelRuleSet(one)
