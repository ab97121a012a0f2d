"""What parameters mean: attributes, options, conditions, and what has no effect here."""

import pytest

from adapter.mqi.kinds import DEFINED
from adapter.mqi.mqsc import meaning
from adapter.mqi.mqsc.meaning import WITHOUT_EFFECT
from adapter.mqi.mqsc.statement import parse
from adapter.mqi.mqsc.text import NotMqscError

QLOCAL = DEFINED["QLOCAL"]


def given(text: str, word: str = "QLOCAL") -> meaning.Given:
    return meaning.given(DEFINED[word], parse(text))


def asked(text: str) -> meaning.Asked:
    return meaning.asked(QLOCAL, parse(text))


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
        ("DEF QL(A) DEFTYPE(PREDEFINED)", "told by"),
        ("DEF QL(A) REPLACE(YES)", "no value"),
        ("ALT QL(A) REPLACE", "no attribute REPLACE"),
        ("ALT QL(A) LIKE(B)", "no attribute LIKE"),
        ("DEL QL(A) MAXDEPTH(1)", "DELETE QLOCAL has no"),
        ("DEF QL(A) TARGET(B)", "no attribute TARGET"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_told(text: str, why: str) -> None:
    with pytest.raises(NotMqscError, match=why):
        given(text)


def test_only_local_queues_are_purged() -> None:
    with pytest.raises(NotMqscError, match="has no PURGE"):
        given("DEL QA(A) PURGE", "QALIAS")


def test_what_has_no_effect_may_be_given_as_it_is_by_default() -> None:
    for word, default in WITHOUT_EFFECT["QUEUE"].items():
        assert QLOCAL.by_keyword(word) is None, f"{word} has an effect by now"
        assert given(f"DEF QL(A) {word}('{default}')").ignored == [word]
        with pytest.raises(NotMqscError, match="no effect"):
            given(f"DEF QL(A) {word}(OTHER)")


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
