"""docs/triggers.md shows the conditions that core has."""

from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.rules.drive.trigger_conditions import CONDITIONS, WAYS
from tests.docs.triggers import BEGIN, END, PAGE, conditions, written


def test_the_page_shows_the_conditions_of_the_code() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    assert text == written(text), "write it again: python -m tests.docs.triggers"


def test_every_condition_and_every_way_is_in_it() -> None:
    made = conditions()
    for condition in CONDITIONS:
        assert f"| **{condition.number}** | {condition.text} |" in made
    for way in WAYS:
        assert f"\n| **{way.name}** | " in made
        assert f"c{way.conditions[-1].number} --> T" in made


def test_settings_that_the_page_speaks_of_are_there() -> None:
    text = PAGE.read_text()
    for name in ("trigger_interval_ms", "depth_trigger_disables", "every_triggers_on_backout"):
        assert f"`{name}`" in text
        assert KINDS[QUEUE_MANAGER][name].attribute.keyword in text
