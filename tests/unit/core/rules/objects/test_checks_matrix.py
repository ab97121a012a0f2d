"""Every command, every authority, in every state of a record: what is refused, and what is not."""

from typing import get_args

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.authorities import APPLICABLE, WORDS
from adapter.core.contract.results import Exported
from adapter.core.contract.rights import Need
from adapter.core.contract.traits import TRAITS
from tests.support.authorities import checked, is_denied, operator, set_records, user
from tests.support.authority_rows import OTHER, ROWS, SILENT, WITHOUT, Needed, Row, prepare
from tests.support.core import Client

COMMANDS = get_args(c.Command)
STATES = {
    "granted": True,
    "absent": False,
    "on the alias only": False,
    "on the base only": False,
    "generic": True,
    "more specific none": False,
}
"""Whether the authority is there. Of a queue, and of its alias, one of the two in the middle is."""
CASES = [
    pytest.param(row, id=f"{type(row.command).__name__}-{number}")
    for rows in ROWS.values()
    for number, row in enumerate(rows)
]
Records = list[tuple[str, str, tuple[str, ...]]]


def test_every_command_has_a_row() -> None:
    without = {command for commands in WITHOUT.values() for command in commands}
    assert set(ROWS) | without == set(COMMANDS)
    assert not set(ROWS) & without


@pytest.mark.parametrize("command", COMMANDS)
def test_what_needs_no_authority_says_so_in_its_trait(command: type) -> None:
    need = TRAITS[command].right.need
    assert (need is Need.CONNECTED) == (command in WITHOUT["a connection is enough"])
    assert (need is Need.HANDLE) == (command in WITHOUT["it was asked for at the open"])


def records_of(needed: Needed, words: tuple[str, ...], state: str) -> Records:
    """Return the records of words on an object, in a state."""
    kind, name = needed.object_type, needed.name
    if state == "granted" or (name == "SELF" and state == "generic"):
        return [(kind, name, words)]
    if state == "generic":
        return [(kind, _generic(name), words), (kind, "NO.**", ("all",))]
    if state == "more specific none":
        generic = "**" if name == "SELF" else _generic(name)
        return [(kind, generic, words), (kind, name, ("none",))]
    where = "A.ALIAS" if state == "on the alias only" else "A.BASE"
    if state == "absent" or kind != "queue" or name not in OTHER:
        return []
    return [(kind, where, words)]


def _generic(name: str) -> str:
    return f"{name[:-1]}?"


def is_there(needed: Needed, state: str) -> bool:
    """Whether a record in a state is one of the object that is needed."""
    of = {"on the alias only": "A.ALIAS", "on the base only": "A.BASE"}.get(state)
    return needed.name == of and needed.object_type == "queue" if of else STATES[state]


def probe(client: Client, row: Row, records: Records) -> bool:
    """Whether a command is refused with these records; they are all that there are."""
    if row.prepare is not None:
        row.prepare(client)
    set_records(client.core, *records)
    user(client)
    client.core.denials.clear()
    denied = is_denied(client, row.command)
    if type(row.command) in SILENT:
        answer = client.answer(client._requests)
        assert isinstance(answer, Exported)
        return not answer.exports
    assert denied == bool(client.core.denials), "a refusal is noted for the log, and no other"
    handle = getattr(row.command, "handle", 1)
    if not row.prepare and isinstance(handle, int):
        client.send(c.Close(handle))
    return denied


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("row", CASES)
def test_the_matrix(row: Row, state: str) -> None:
    client = checked()
    prepare(client)
    for word in WORDS:
        records: Records = []
        expected = not row.any_of
        for needed in row.needs:
            if word not in needed.words:
                if not row.any_of:
                    records += [(needed.object_type, needed.name, needed.words)]
                elif WORDS[word] & APPLICABLE[needed.object_type]:
                    records += records_of(needed, (word,), state)
                continue
            others = () if row.any_of else tuple(one for one in needed.words if one != word)
            there = is_there(needed, state)
            expected = there if row.any_of else expected and there
            if there or row.any_of:
                records += records_of(needed, (*others, word), state)
            else:
                records += records_of(needed, (word,), state)
                records = _merge(records, (needed.object_type, needed.name, others))
        denied = probe(client, row, records)
        assert denied is not expected, (word, state, records)
        if denied and not row.any_of and type(row.command) not in SILENT:
            (one,) = client.core.denials
            assert one.missing & WORDS[word]
            assert one.user == "ada"
        _again(client)


def _merge(records: Records, one: tuple[str, str, tuple[str, ...]]) -> Records:
    """Add words to the record of an object; it has one record only."""
    kind, name, words = one
    kept = [other for other in records if other[:2] != (kind, name)]
    known = [word for other in records if other[:2] == (kind, name) for word in other[2]]
    both = tuple(word for word in (*known, *words) if word != "none")
    return [*kept, (kind, name, both or ("none",))]


def _again(client: Client) -> None:
    """Make what is gone anew."""
    operator(client)
    prepare(client)


@pytest.mark.parametrize("row", CASES)
def test_a_privileged_principal_needs_nothing(row: Row) -> None:
    client = checked()
    prepare(client)
    if row.prepare is not None:
        row.prepare(client)
    set_records(client.core)
    operator(client)
    assert not is_denied(client, row.command)


@pytest.mark.parametrize("row", CASES)
def test_where_authorities_are_not_checked_nothing_is_needed(row: Row) -> None:
    client = checked()
    prepare(client)
    if row.prepare is not None:
        row.prepare(client)
    client.core.qm.authorities.are_checked = False
    set_records(client.core)
    user(client)
    assert not is_denied(client, row.command)
