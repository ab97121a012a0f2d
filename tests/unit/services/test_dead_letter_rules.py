"""Rules tables: what is read, and what is said of what is wrong."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.services.dead_letter_rules import (
    Control,
    DeadLetterRule,
    Mistake,
    RulesError,
    RulesTable,
    parse,
)

EXAMPLE = """\
*************************************************************
*       Rules, as the manual's example has them             *
*************************************************************
inputqm(' ') inputq('DEAD.Q') , retryint(30) wait(yes)

REASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(5)
  * an indented comment

MSGTYPE(MQMT_REQUEST) REPLYQM(AAAA.*) +
* a comment inside a rule
   ACTION(FWD) FWDQ(DEADQ) FWDQM(&REPLYQM)

DESTQM(bbbb.1) +
action(fwd) fwdq(&DESTQ) fwdqm(bbbb.2) header(no)
PERSIST(MQPER_PERSISTENT) ACTION(FWD) FWDQ(&REPLYQ) PUTAUT(CTX)
REASON(2085) ACTION (DISCARD)
ACTION(IGNORE)
"""


def rules(text: str) -> list[DeadLetterRule]:
    return parse(text).rules


def mistakes(text: str) -> list[Mistake]:
    with pytest.raises(RulesError) as caught:
        parse(text)
    return caught.value.mistakes


def mistake(text: str) -> str:
    (found,) = mistakes(text)
    return str(found)


def test_a_table_is_read() -> None:
    table = parse(EXAMPLE)
    assert table.control == Control(input_queue="DEAD.Q", retry_interval_s=30, wait_s=None)
    full, request, other, persistent, unknown, rest = table.rules
    assert (full.action, full.retry, full.numbers) == ("RETRY", 5, {"REASON": 2053})
    assert (request.forward_queue, request.forward_queue_manager) == ("DEADQ", "&REPLYQM")
    assert (request.header, request.numbers) == (True, {"MSGTYPE": 1})
    assert (other.forward_queue, other.forward_queue_manager) == ("&DESTQ", "BBBB.2")
    assert other.header is False
    assert (persistent.put_authority, persistent.forward_queue) == ("CTX", "&REPLYQ")
    assert (unknown.action, unknown.numbers, unknown.retry) == ("DISCARD", {"REASON": 2085}, 1)
    assert (rest.action, rest.texts, rest.numbers) == ("IGNORE", {}, {})
    assert [rule.line for rule in table.rules] == [6, 9, 13, 15, 16, 17]


def test_the_control_data_may_be_left_out() -> None:
    assert parse("ACTION(IGNORE)") == RulesTable(
        Control(input_queue="", input_queue_manager="", retry_interval_s=60, wait_s=0),
        parse("ACTION(IGNORE)").rules,
    )


@pytest.mark.parametrize(
    ("written", "wait_s"), [("NO", 0), ("YES", None), ("120", 120), ("0", 0), ("'no'", 0)]
)
def test_how_long_to_wait(written: str, wait_s: int | None) -> None:
    assert parse(f"WAIT({written})\nACTION(IGNORE)").control.wait_s == wait_s


@pytest.mark.parametrize(
    ("written", "fits", "not_"),
    [
        ("APPLNAME('ABC+\n   D')", ["ABCD", "ABCD   "], ["ABC D", "ABC"]),
        ("APPLNAME('ABC-\n D')", ["ABC D"], ["ABCD"]),
        ("APPL+\n NAME(X)", ["X"], ["Y"]),
        ("APPLNAME(abc)", ["ABC"], ["abc"]),
        ("APPLNAME('abc')", ["abc"], ["ABC"]),
        ("APPLNAME('it''s')", ["it's"], ["its"]),
        ("APPLNAME(A*)", ["A", "AB", "A.B"], ["BA", ""]),
        ("APPLNAME(?)", ["A"], ["", "AB"]),
        ("APPLNAME(?*)", ["A", "AB"], ["", "   "]),
        ("APPLNAME(*)", ["", "A"], []),
        ("APPLNAME('A.C')", ["A.C"], ["ABC"]),
        ("APPLNAME(' ')", ["", "  "], ["A"]),
        ("APPLNAME(' A')", [" A"], ["A"]),
        ("APPLNAME(two words)", ["TWO WORDS"], ["TWO"]),
    ],
)
def test_patterns_of_text(written: str, fits: list[str], not_: list[str]) -> None:
    """Blanks at the end do not count, * and ? are always wildcards, unquoted text is upper case."""
    (rule,) = rules(f"{written} ACTION(IGNORE)")
    assert all(rule.matches({"APPLNAME": name}, {}) for name in fits)
    assert not any(rule.matches({"APPLNAME": name}, {}) for name in not_)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("REASON(2053)", 2053),
        ("REASON(mqrc_q_full)", 2053),
        ("REASON('MQRC_Q_FULL')", 2053),
        ("REASON(MQFB_TM_ERROR)", 266),
        ("FEEDBACK(MQFB_COA)", 259),
        ("MSGTYPE(MQMT_REPLY)", 2),
        ("PERSIST(MQPER_NOT_PERSISTENT)", 0),
        ("APPLTYPE(MQAT_OPEN_TP1)", 15),
        ("APPLTYPE(-1)", -1),
    ],
)
def test_patterns_of_numbers(written: str, number: int) -> None:
    (rule,) = rules(f"{written} ACTION(IGNORE)")
    (key,) = rule.numbers
    assert rule.matches({}, {key: number})
    assert not rule.matches({}, {key: number + 1})


@pytest.mark.parametrize("written", ["REASON(*)", "REASON('*')", "MSGTYPE(*)"])
def test_an_asterisk_is_any_number(written: str) -> None:
    (rule,) = rules(f"{written} ACTION(IGNORE)")
    assert rule.numbers == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: a rules table has at least one rule: add one"),
        ("WAIT(NO)", "line 1, column 1: a rules table has at least one rule: add one"),
        ("REASON(2053)", "line 1, column 1: the rule has no ACTION"),
        ("\n  ACTION(STOP)", "line 2, column 10: ACTION is DISCARD, IGNORE, RETRY or FWD"),
        ("ACTION(FWD)", "line 1, column 8: ACTION(FWD) needs FWDQ"),
        ("ACTION(RETRY) FWDQ(Q)", "line 1, column 20: FWDQ goes with ACTION(FWD) only"),
        ("ACTION(RETRY) +\n HEADER(NO)", "line 2, column 9: HEADER goes with ACTION(FWD) only"),
        ("ACTION(FWD) FWDQ(' ')", "column 18: FWDQ(' ') names no queue"),
        ("ACTION(FWD) FWDQ(&REPLYQM)", "FWDQ takes a name, &DESTQ or &REPLYQ, not &REPLYQM"),
        ("ACTION(FWD) FWDQ(Q*)", "FWDQ takes a name: * and ? stand for nothing here"),
        (f"ACTION(FWD) FWDQ({'Q' * 49})", "a name has at most 48 characters, not 49"),
        ("ACTION(RETRY) RETRY(0)", "column 21: RETRY is a number of 1 to 999999999"),
        ("ACTION(RETRY) RETRY('2')", "RETRY is a number of 1 to 999999999"),
        ("ACTION(IGNORE) PUTAUT(ALL)", "PUTAUT is DEF or CTX"),
        ("ACTION(IGNORE) ACTION(IGNORE)", "column 16: ACTION is there twice"),
        ("REASN(2) ACTION(IGNORE)", "line 1, column 1: unknown keyword REASN"),
        ("REASON 2 ACTION(IGNORE)", "column 8: REASON takes a value in parentheses"),
        ("FORMAT() ACTION(IGNORE)", "column 8: FORMAT has no value"),
        ("FORMAT('') ACTION(IGNORE)", "column 8: FORMAT has an empty value"),
        ("FORMAT('A ACTION(IGNORE)", "column 8: a quotation mark is not closed"),
        ("FORMAT('A' B) ACTION(IGNORE)", "column 12: a ) was expected behind the value of FORMAT"),
        ("FORMAT(A", "column 9: a ) was expected behind the value of FORMAT"),
        ("FORMAT(ABCDEFGHI) ACTION(IGNORE)", "FORMAT has at most 8 characters, not 9"),
        ("MSGTYPE('2') ACTION(IGNORE)", "MSGTYPE is a whole number without quotation marks"),
        ("MSGTYPE(2*) ACTION(IGNORE)", "or * for any, not '2*'"),
        ("REASON(MQRC_NO_SUCH) ACTION(IGNORE)", "not 'MQRC_NO_SUCH': write the number"),
        ("MSGTYPE(MQRC_Q_FULL) ACTION(IGNORE)", "a name that is known (MQMT_...)"),
        ("ACTION(IGNORE)\nWAIT(NO)", "line 2, column 6: WAIT is control data"),
        ("WAIT(NO) ACTION(IGNORE)", "line 1, column 6: WAIT is control data"),
        ("WAIT(SOON)\nACTION(IGNORE)", "WAIT is a number of 0 to 999999999 or YES or NO"),
        ("RETRYINT(0)\nACTION(IGNORE)", "RETRYINT is a number of 1 to 999999999"),
        ("= ACTION(IGNORE)", "column 1: a keyword was expected, not '='"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_what_to_do(text: str, said: str) -> None:
    assert said in mistake(text)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = mistakes("REASN(2) ACTION(IGNORE)\nACTION(IGNORE)\n\nACTION(STOP)\n")
    assert [(one.line, one.column) for one in found] == [(1, 1), (4, 8)]


@given(st.text(st.sampled_from("ACTIONFWDQ(IGNORE)' *?&+-,.\n1")))
def test_any_text_is_a_table_or_its_mistakes_are_within_it(text: str) -> None:
    try:
        parse(text)
    except RulesError as problem:
        for one in problem.mistakes:
            assert 1 <= one.line <= max(len(text.splitlines()), 1)
            assert one.column >= 1


def test_mistakes_can_be_pickled() -> None:
    with pytest.raises(RulesError) as refused:
        parse("ACTION(NONE)")
    twin = pickle.loads(pickle.dumps(refused.value))
    assert (str(twin), twin.mistakes) == (str(refused.value), refused.value.mistakes)
