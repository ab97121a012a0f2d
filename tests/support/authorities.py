"""A core that checks authorities, a client of a user, and records to try on it."""

from collections.abc import Iterable

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import AuthorityRecord, bits_of
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.core import Client, Core

USER = "ada"


def set_records(core: Core, *records: tuple[str, str, Iterable[str]], user: str = USER) -> None:
    """Let these be all records: type, profile and words of each, of one user."""
    for one in list(core.qm.authorities.every()):
        core.qm.authorities.remove(one.profile, one.object_type, one.entity, one.is_group)
    for object_type, profile, words in records:
        bits = bits_of(object_type, list(words))
        core.qm.authorities.set(AuthorityRecord(profile, object_type, user, False, bits))


def become(client: Client, principal: Principal) -> None:
    """Let a connection be of another principal."""
    client.core.qm.connections[client.number].party = Party("test", principal)


def operator(client: Client) -> None:
    """Let a connection be of an operator, who may do everything."""
    become(client, Principal("root", Proof.OPERATOR))


def user(client: Client, name: str = USER, groups: tuple[str, ...] = ()) -> None:
    """Let a connection be of a user who has given a password."""
    become(client, Principal(name, Proof.PASSWORD, groups))


def checked() -> Client:
    """Return the client of an operator, of a core that checks authorities."""
    core = Core()
    core.take(core.give(inputs.Configured({}, checks_authorities=True)))
    client = core.connect()
    operator(client)
    return client


def is_denied(client: Client, command: c.Command) -> bool:
    """Whether a command is refused for want of an authority; otherwise it may fail as it likes."""
    answer = client.answer(client.send(command))
    return isinstance(answer, Refused) and answer.reason is Reason.AUTHORITY_MISSING
