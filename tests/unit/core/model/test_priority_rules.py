"""Rules of priorities: the first condition that is true counts; what is no rule is refused."""

from typing import Any

import pytest

from adapter.core.contract.message import MessageData
from adapter.core.model.priority_rules import RULES_MAX, parse_rules, priority_of
from adapter.core.model.selector import SelectorError


def priority(text: str, **properties: Any) -> int | None:
    return priority_of(parse_rules(text), MessageData(properties=properties))


def test_the_first_rule_that_is_true_counts() -> None:
    rules = "9: tier = 'gold'; 5: amount > 100; 0: amount <= 100;"
    assert priority(rules, tier="gold", amount=1) == 9
    assert priority(rules, tier="tin", amount=101) == 5
    assert priority(rules, amount=100) == 0
    assert priority(rules, tier="tin") is None, "what is unknown fits no rule"


@pytest.mark.parametrize("text", ["", "  ", ";"])
def test_no_rules(text: str) -> None:
    assert parse_rules(text) == ()


def test_a_text_may_have_a_semicolon() -> None:
    assert priority("7: a = 'x; 3: y''s'; 2: \"b;c\" = 1", a="x; 3: y's") == 7
    assert priority("7: a = 'x'; 2: \"b;c\" = 1", **{"b;c": 1}) == 2


def test_fields_can_be_asked_for() -> None:
    rules = parse_rules("8: Root.MQMD.Persistence = 1")
    assert priority_of(rules, MessageData(persistence=1)) == 8
    assert priority_of(rules, MessageData(persistence=0)) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tier = 'gold'", "character 1: a rule is a priority from 0 to 9, a colon and a condition"),
        ("10: a = 1", "character 1: a rule is a priority"),
        ("-1: a = 1", "character 1: a rule is a priority"),
        ("9: a = 1;; 2: b = 1", "character 10: a rule is a priority"),
        ("9: a = 'open", "character 1: a rule is a priority"),
        ("9: a = 1; 2: a >", "rule 2: 'the end' stands where a value is due"),
        ("9:", "rule 1: 'the end' stands where a value is due"),
        ("9: 1 + 1", "rule 1: a number stands where a condition is due"),
        ("\u0669: a = 1", "character 1: a rule is a priority"),
        ("9: " + "(" * 60 + "a" + ")" * 60, "rule 1: it is nested more than"),
        ("1: a;" * (RULES_MAX + 1), f"it has more than {RULES_MAX} rules"),
    ],
)
def test_what_is_no_rule_is_refused(text: str, says: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_rules(text)
    assert str(refused.value).startswith(says)
