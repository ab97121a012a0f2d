"""What parameters mean: attributes, options, conditions, and what has no effect here."""

import pytest

from adapter.administration import authorities, channel_rules, without_effect
from adapter.administration.kinds import DEFINED, Kind
from adapter.administration.mqsc import meaning
from adapter.administration.mqsc.statement import Statement, StatementParameter, Word, parse
from adapter.administration.mqsc.text import NotMqscError
from adapter.administration.values import text
from adapter.administration.without_effect import UnsupportedError
from adapter.core.attributes.table import AttributeRow

QLOCAL = DEFINED["QLOCAL"]


def given(text: str, word: str = "QLOCAL") -> meaning.Given:
    return meaning.given(DEFINED[word], parse(text))


def asked(text: str) -> meaning.DisplayRequest:
    return meaning.read_display(QLOCAL, parse(text))


def test_keywords_and_bare_words_become_attributes() -> None:
    found = given("DEF QL(A) MAXDEPTH(5) TRIGGER NOSHARE PUT(DISABLED) TRIGTYPE(every) REPLACE")
    assert found.attributes == {
        "max_depth": 5,
        "trigger_control": True,
        "share": False,
        "inhibit_put": True,
        "trigger_type": "EVERY",
    }
    assert found.replace
    assert not found.purge


def test_options_of_the_verbs() -> None:
    assert given("DEL QL(A) PURGE").purge
    assert not given("DEL QL(A) NOPURGE").purge
    assert not given("DEF QL(A) NOREPLACE").replace
    assert given("DEF QL(A) LIKE(B)").like == "B"
    assert given("ALT QL(A) FORCE MAXDEPTH(1)").attributes == {"max_depth": 1}


def test_a_name_may_be_known_by_two_words() -> None:
    assert given("DEF QA(A) TARGQ(B)", "QALIAS").attributes == {"target": "B"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DEF QL(A) MAXDEPTH", "one value"),
        ("DEF QL(A) MAXDEPTH(1 2)", "one value"),
        ("DEF QL(A) TRIGGER(YES)", "no value"),
        ("DEF QL(A) TRIGGER NOTRIGGER", "twice"),
        ("DEF QL(A) PUT(MAYBE)", "ENABLED, DISABLED"),
        ("DEF QL(A) DEFTYPE(PERMDYN)", "DEFTYPE cannot be set"),
        ("DEF QL(A) QDEPTHHI(101)", "QDEPTHHI takes 0 to 100"),
        ("DEF QL(A) CLUSTER(A B)", "one value"),
        ("DEF QL(A) MAXDPTH(1)", "did you mean MAXDEPTH"),
        ("DEL QL(A) IGNSTATE(MAYBE)", "IGNSTATE takes one of NO, YES"),
        ("DEL QL(A) IGNORE(YES)", "unknown parameter IGNORE of DELETE QLOCAL"),
        ("DEF QL(A) REPLACE(YES)", "no value"),
        ("ALT QL(A) REPLACE", "no attribute REPLACE"),
        ("ALT QL(A) LIKE(B)", "no attribute LIKE"),
        ("DEL QL(A) MAXDEPTH(1)", "unknown parameter MAXDEPTH"),
        ("DEF QL(A) TARGET(B)", "no attribute TARGET"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_told(text: str, why: str) -> None:
    with pytest.raises(NotMqscError, match=why):
        given(text)


def test_only_local_queues_are_purged() -> None:
    with pytest.raises(NotMqscError, match="unknown parameter PURGE"):
        given("DEL QA(A) PURGE", "QALIAS")


def written(row: AttributeRow, value: object) -> str:
    return f"{row.attribute.keyword}('{text(row, value)}')"


@pytest.mark.parametrize("kind", DEFINED.values(), ids=list(DEFINED))
def test_what_holds_anyway_is_accepted_silently(kind: Kind) -> None:
    for row in kind.unsupported.values():
        name = "" if kind.word == "QMGR" else "(A)"
        found = given(f"ALT {kind.word}{name} {written(row, row.default)}", kind.word)
        assert found.attributes == {}
        assert found.without_effect == []
        assert found.named


def test_what_is_harmless_is_accepted_and_reported() -> None:
    found = given("DEF QL(A) MONQ(HIGH) QDPHIEV(ENABLED) MAXDEPTH(5)")
    assert found.without_effect == ["MONQ(HIGH)", "QDPHIEV(ENABLED)"]
    assert found.attributes == {"max_depth": 5}


@pytest.mark.parametrize(
    "parameter",
    [
        "NPMCLASS(HIGH)",
        "CLUSTER(C)",
        "STREAMQ(B)",
    ],
)
def test_what_would_promise_something_is_refused_by_name(parameter: str) -> None:
    word, _, _ = parameter.partition("(")
    with pytest.raises(UnsupportedError, match=f"{word} takes only the value"):
        given(f"DEF QL(A) {parameter}")


@pytest.mark.parametrize("word", ["ALL", "COMPAT", "FORCE", "NONE", "V6COMPAT"])
def test_finding_mq_propctl_and_capexpry_do_not_lose_a_queue(word: str) -> None:
    found = given(f"DEF QL(A) PROPCTL({word}) CAPEXPRY(100)")
    assert found.attributes == {"property_control": word, "expiry_cap": 100}
    assert found.without_effect == []
    assert given("DEF QL(A) CAPEXPRY(NOLIMIT)").attributes == {"expiry_cap": -1}


def test_limits_of_the_queue_manager_stay_as_they_are() -> None:
    text = "ALTER QMGR CCSID(1208) MAXHANDS(256) MAXMSGL(4194304) CHLAUTH(ENABLED)"
    found = given(text, "QMGR")
    assert found.without_effect == ["MAXMSGL(4194304)"]
    assert found.attributes["channel_rules"] == "ENABLED"


def test_a_subscription_goes_to_a_queue_of_any_queue_manager() -> None:
    sub = parse("DEF SUB(S) TOPICSTR('a') DEST(Q) DESTQMGR(QM1) DESTCORL(X'00') EXPIRY(UNLIMITED)")
    found = meaning.given(DEFINED["SUB"], sub)
    assert (found.without_effect, found.attributes["correlation_id"]) == ([], "")
    assert found.attributes["destination_queue_manager"] == "QM1"


def test_a_subscription_is_named_by_its_id() -> None:
    ident = "4D514B".ljust(48, "1")
    assert given(f"DELETE SUB SUBID({ident})", "SUB").ident == ident
    assert given(f"DELETE SUB SUBID(X'{ident}')", "SUB").ident == ident
    for wrong in ("12", "Z" * 48, "0" * 48):
        with pytest.raises(NotMqscError, match="48 hexadecimal digits"):
            given(f"DELETE SUB SUBID({wrong})", "SUB")


def test_a_display_names_attributes_and_a_condition() -> None:
    found = asked("DIS QL(*) MAXDEPTH WHERE(CURDEPTH GE 2)")
    assert found.attributes == {"max_depth", "current_depth"}
    assert [(one.row.name, one.operator, one.want) for one in found.filters] == [
        ("current_depth", 6, 2)
    ]


@pytest.mark.parametrize("text", ["DIS QL(*)", "DIS QL(*) ALL", "DIS QL(*) ALL MAXDEPTH"])
def test_a_display_without_attributes_shows_all(text: str) -> None:
    assert asked(text).attributes == frozenset()


def test_words_in_a_condition_are_compared_as_numbers() -> None:
    (condition,) = asked("DIS QL(*) WHERE(PUT EQ DISABLED)").filters
    assert condition.want == 1


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("WHERE(MAXDEPTH)", "attribute operator value"),
        ("WHERE", "attribute operator value"),
        ("WHERE(MAXDEPTH IS 5)", "operators are"),
        ("WHERE(FISH EQ 5)", "no attribute FISH"),
        ("WHERE(MAXDEPTH EQ X)", "whole number"),
        ("WHERE(MAXDEPTH LK 5)", "comparison"),
        ("WHERE(DESCR CT X)", "comparison"),
        ("WHERE(PUT EQ MAYBE)", "ENABLED"),
        ("FISH", "no attribute FISH"),
        ("MAXDEPTH(5)", "no value"),
    ],
)
def test_what_is_wrong_with_a_display_is_told(where: str, why: str) -> None:
    with pytest.raises(NotMqscError, match=why):
        asked(f"DIS QL(*) {where}")


TABLES = {
    "SET CHLAUTH": channel_rules.RULE,
    "DISPLAY CHLAUTH": channel_rules.SHOWN,
    "SET AUTHREC": authorities.RECORD,
    "DISPLAY AUTHREC": authorities.SHOWN,
    "REFRESH SECURITY": authorities.SECURITY,
    "DEFINE LISTENER": without_effect.LISTENER,
    "STOP CHANNEL": without_effect.STOPPING,
    "DELETE LISTENER": without_effect.IGNORE_STATE,
}
"""The parameters of commands without a kind of their own."""


@pytest.mark.parametrize("command", TABLES)
def test_a_second_value_is_never_dropped(command: str) -> None:
    verb, kind = command.split()
    lists = without_effect.ONE_EACH if verb == "DISPLAY" else without_effect.LISTS
    for row in TABLES[command].values():
        one, other = (*row.attribute.words, *row.choices, "1", "2")[:2]
        parameter = StatementParameter(row.name, (Word(one), Word(other)))
        statement = Statement(verb, kind, "", (parameter,))
        if row.name in lists:
            found = meaning.check_parameters(TABLES[command], statement, lists)
            assert found == {row.name: [one, other]}
        else:
            with pytest.raises(NotMqscError):
                meaning.check_parameters(TABLES[command], statement, lists)


@pytest.mark.parametrize("word", DEFINED)
def test_a_second_value_of_an_attribute_is_never_dropped(word: str) -> None:
    for row in DEFINED[word].every_row.values():
        if row.attribute.keyword == "NAMES":
            continue  # the one list
        two = StatementParameter(row.attribute.keyword, (Word("1"), Word("2")))
        with pytest.raises(NotMqscError):
            meaning.given(DEFINED[word], Statement("DEFINE", word, "A", (two,)))


def test_names_without_parentheses_are_no_names() -> None:
    statement = Statement("ALTER", "NAMELIST", "N", (StatementParameter("NAMES"),))
    with pytest.raises(NotMqscError, match="names in parentheses"):
        meaning.given(DEFINED["NAMELIST"], statement)
