"""What a command says, and the malformed ones."""

import contextlib
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.administration.mqsc.statement import (
    KINDS,
    NAMELESS,
    VERBS,
    Statement,
    StatementParameter,
    Word,
    parse,
)
from adapter.administration.mqsc.text import NotMqscError
from tests.support.each import each


def words(*texts: str) -> tuple[Word, ...]:
    return tuple(Word(text) for text in texts)


def test_a_definition() -> None:
    found = parse("def ql(orders.in) descr('Orders, in') maxdepth ( 10 ) noreplace trigger")
    assert found == Statement(
        "DEFINE",
        "QLOCAL",
        "ORDERS.IN",
        (
            StatementParameter("DESCR", (Word("Orders, in", quoted=True),)),
            StatementParameter("MAXDEPTH", words("10")),
            StatementParameter("NOREPLACE"),
            StatementParameter("TRIGGER"),
        ),
    )


@each(
    product(
        [one for one in VERBS if VERBS[one] != "END"],
        [one for one in KINDS if KINDS[one] not in NAMELESS],
    )
)
def test_verbs_and_kinds_may_be_short(verb: str, kind: str) -> None:
    found = parse(f"{verb} {kind}('a')")
    assert (found.verb, found.kind, found.name) == (VERBS[verb], KINDS[kind], "a")


def test_the_queue_manager_has_no_name_here() -> None:
    found = parse("ALTER QMGR DEADQ(DLQ)")
    assert (found.kind, found.name) == ("QMGR", "")
    assert found.parameters == (StatementParameter("DEADQ", words("DLQ")),)


def test_a_condition_has_three_words() -> None:
    found = parse("DIS QUEUE(A*) WHERE(curdepth gt 0) ALL")
    assert found.parameters[0] == StatementParameter("WHERE", words("CURDEPTH", "GT", "0"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("FROBNICATE QL(A)", "unknown command"),
        ("'DEFINE' QL(A)", "unknown command"),
        ("(", "unknown command"),
        ("DEFINE", "ends where the object type"),
        ("DEFINE FISH(A)", "unknown object type FISH; expected one of"),
        ("DEFINE QL", "one name"),
        ("DEFINE QL()", "parentheses are empty"),
        ("DEFINE QL(' ')", "one name"),
        ("DEFINE QL(A B)", "one name"),
        ("DEFINE QL(A", "not closed"),
        ("DEFINE QL(A))", "keyword is expected"),
        ("DEFINE QL(A) 'x'", "keyword is expected"),
        ("DEFINE QL(A) CONNAME(host(1))", "quotation marks"),
        ("DEFINE QL(A) MAXDEPTH()", "parentheses are empty"),
        ("DEFINE QL(A) MAXDEPTH(1) MAXDEPTH(2)", "twice"),
        ("END NOW", "should have ended"),
        ("", "command is expected"),
    ],
)
def test_what_is_no_command_is_told(text: str, problem: str) -> None:
    with pytest.raises(NotMqscError, match=problem):
        parse(text)


@given(st.text(max_size=80))
def test_any_text_is_a_command_or_is_refused(text: str) -> None:
    with contextlib.suppress(NotMqscError):
        parse("DEFINE " + text)
