"""What transcripts say of authorities: who a client is, and what is granted to whom.

A client is nobody until it is said who it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import bits_of
from adapter.core.contract.channel_rules import SetChannelRule
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.model.manager import QueueManager
from tests.scenarios.language import Call

if TYPE_CHECKING:
    from tests.scenarios.people import Person
    from tests.scenarios.world import World

OPERATOR = "operator"


def check(world: World, call: Call) -> list[str]:
    """Check authorities from now on."""
    del call
    world._driver.give(lambda _: inputs.Configured({}, checks_authorities=True))
    return ["ok"]


def be_user(world: World, call: Call) -> list[str]:
    """Let a client be of a user: CLIENT USER [groups=A+B] [host=] [channel=]."""
    name, user = call.words
    host, channel = (call.options.pop(one, "") for one in ("host", "channel"))
    person = world._person(name)
    groups = tuple(one for one in call.options.pop("groups", "").split("+") if one)
    proof = Proof.OPERATOR if user == OPERATOR else Proof.PASSWORD

    def make(qm: QueueManager) -> inputs.Input:
        party = Party("", Principal(user, proof, groups), channel=channel, host=host)
        return inputs.Introduced(qm.attached[person.session], party)

    world._driver.give(make)
    return ["ok"]


def _names(call: Call) -> tuple[list[str], list[str]]:
    users, groups = call.options.pop("user", ""), call.options.pop("group", "")
    return ([users] if users else []), ([groups] if groups else [])


def grant(_: World, person: Person, call: Call) -> c.Command:
    """Grant: PROFILE WORD ... [user=NAME] [group=NAME] [type=TYPE]."""
    del person  # who asks is whose connection it is
    profile, *words = call.words
    object_type = call.options.pop("type", "queue")
    return ac.SetAuthority(profile, object_type, *_names(call), bits_of(object_type, words))


def revoke(_: World, person: Person, call: Call) -> c.Command:
    """Take away: PROFILE [WORD ...] [user=NAME] [group=NAME] [type=TYPE]; without words, delete."""
    del person  # who asks is whose connection it is
    profile, *words = call.words
    object_type = call.options.pop("type", "queue")
    names = _names(call)
    if not words:
        return ac.DeleteAuthority(profile, object_type, *names)
    return ac.SetAuthority(profile, object_type, *names, 0, bits_of(object_type, words))


def receiver(_: World, person: Person, call: Call) -> c.Command:
    """Define or alter the receiver of a queue manager: QUEUE_MANAGER [ATTRIBUTE=VALUE ...]."""
    del person  # who asks is whose connection it is
    (source,) = call.words
    given = {"channel_type": "RCVR", "queue_manager": source, **call.options}
    call.options.clear()
    return c.DefineObject("channel", f"FROM.{source}", given, True)


def refresh(_: World, person: Person, call: Call) -> c.Command:
    """Close what is open without the authority that it needs now."""
    del person, call
    return ac.RefreshSecurity()


def rule(_: World, person: Person, call: Call) -> c.Command:
    """Set a channel authentication record: PROFILE TYPE [FIELD=VALUE ...] [users=A+B]."""
    del person  # who asks is whose connection it is
    profile, kind = call.words
    given: dict[str, Any] = dict(call.options)
    call.options.clear()
    if "users" in given:
        given["users"] = given["users"].split("+")
    return SetChannelRule(profile, kind, **given)


COMMANDS: dict[str, Callable[[World, Person, Call], c.Command]] = {
    "grant": grant,
    "receiver": receiver,
    "refresh": refresh,
    "revoke": revoke,
    "rule": rule,
}
MANAGE = {"check_authorities": check, "is_user": be_user}
