"""Files of triggers: what they define, and that every problem is named with its line."""

from pathlib import Path

import pytest

from adapter.msmq.triggers import (
    Call,
    LabelContains,
    MessageProperty,
    PriorityGreaterThan,
    Processing,
    Run,
    TriggerId,
    TriggerName,
)
from adapter.msmq.triggers.conditions import CONDITIONS
from adapter.msmq.triggers.configuration import (
    FILE_BYTES_MAX,
    TriggerFileError,
    condition_name,
    read,
)

GOOD = r"""
[[trigger]]
name = "PrivateTrigger"
queue = '.\private$\MyQueue'
serialized = true
processing = "retrieval"
id = "42"

[[trigger.rule]]
name = "MyRule1"
conditions = [{ label_contains = "marketing" }, { priority_greater_than = 2 }]
run = "mspaint.exe"
parameters = [{ property = "label" }, { trigger = "name" }, { trigger = "id" }, "text", 3]

[[trigger.rule]]
name = "MyRule2"
call = "os.path:join"

[[trigger]]
name = "Other"
queue = '.\private$\Other'
enabled = false
"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "triggers.toml"
    file.write_text(text)
    return file


def problems(tmp_path: Path, text: str) -> list[str]:
    """Return the problems of a file, without its path: LINE: text."""
    file = written(tmp_path, text)
    with pytest.raises(TriggerFileError) as found:
        read(file)
    assert all(one.startswith(f"{file}:") for one in found.value.problems)
    return [one.removeprefix(f"{file}:") for one in found.value.problems]


def test_a_file_defines_triggers(tmp_path: Path) -> None:
    one, other = read(written(tmp_path, GOOD))
    assert (one.name, one.queue, one.id) == ("PrivateTrigger", r".\private$\MyQueue", "42")
    assert (one.serialized, one.processing) == (True, Processing.RETRIEVAL)
    first, second = one.rules
    assert first.conditions == (LabelContains("marketing"), PriorityGreaterThan(2))
    parameters = (MessageProperty.LABEL, TriggerName(), TriggerId(), "text", 3)
    assert first.action == Run("mspaint.exe", parameters)
    assert second.action == Call("os.path:join")
    assert (other.enabled, other.rules) == (False, [])


TRIGGER = '[[trigger]]\nname = "T"\nqueue = "Q"\n'
RULE = TRIGGER + '[[trigger.rule]]\nname = "R"\n'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "1: no trigger"),
        ("[[trigger]]\nname = \n", "2: "),
        ("[[trigger]]\nqueue = 'Q'\n", "1: a trigger has no name"),
        ("\n\n[[trigger]]\nname = 'T'\n", "3: trigger T has no queue"),
        (TRIGGER + "serialised = true\n", "4: unknown key or value 'serialised'"),
        (TRIGGER + "serialized = 1\n", "4: serialized is true or false"),
        (TRIGGER + "processing = 'peek'\n", "4: unknown key or value 'peek'"),
        (TRIGGER + "# c\n" + TRIGGER, "6: trigger T is defined twice"),
        (TRIGGER.replace('"T"', "3"), "2: name is a text"),
        (RULE, "4: rule R has one of run and call"),
        (RULE + "run = 'a'\ncall = 'b:c'\n", "7: rule R has one of run and call"),
        (RULE + "call = 'nowhere:function'\n", "6: 'nowhere:function' does not name a function"),
        (RULE + "run = 'a'\nconditions = [{ label_has = 'x' }]\n", "7: unknown key or value"),
        (RULE + "run = 'a'\nconditions = [{ label_contains = 1 }]\n", "7: label_contains is a str"),
        (RULE + "run = 'a'\nconditions = [{ priority_equals = 'x' }]\n", "7: priority_equals is a"),
        (RULE + "run = 'a'\nconditions = 'x'\n", "7: conditions is a list"),
        (RULE + "run = 'a'\nparameters = [{ property = 'lable' }]\n", "7: unknown key or value"),
        (RULE + "run = 'a'\nparameters = [[]]\n", "7: a parameter is"),
        ("other = 1\n" + TRIGGER, "1: unknown key or value 'other'"),
        ("trigger = 3\n", "1: no trigger"),
        (TRIGGER + "rule = 3\n", "4: rules are tables"),
    ],
)
def test_a_problem_is_named_with_its_line(tmp_path: Path, text: str, where: str) -> None:
    (found,) = problems(tmp_path, text)
    assert found.startswith(where)


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    text = RULE + "run = 3\n" + "[[trigger]]\nname = 'U'\n"
    assert [one.partition(":")[0] for one in problems(tmp_path, text)] == ["6", "7"]


def test_all_problems_of_a_trigger_and_of_a_rule_are_named(tmp_path: Path) -> None:
    text = (
        "[[trigger]]\nqueue = 3\nserialised = true\nprocessing = 'peek'\nenabled = 1\n"
        "[[trigger.rule]]\nconditions = [{ label_has = 'x' }, { priority_equals = 'x' }]\n"
        "parameters = 'x'\nrun = 'a'\ncall = 'b:c'\nwhen = 1\n"
    )
    assert [one.partition("not")[0].partition(" '")[0] for one in problems(tmp_path, text)] == [
        "1: a trigger has no name: add one",
        "2: queue is a text that is ",
        "3: unknown key or value",
        "4: unknown key or value",
        "5: enabled is true or false, ",
        "6: a rule has no name: add one",
        "7: priority_equals is an int, ",
        "7: unknown key or value",
        '8: parameters is a list, as [{ property = "label" }, "literal"]',
        "10: a rule has one of run and call",
        "11: unknown key or value",
    ]


def test_triggers_that_do_not_go_together(tmp_path: Path) -> None:
    second = '[[trigger]]\nname = "U"\nqueue = "Q"\nprocessing = "retrieval"\n'
    (found,) = problems(tmp_path, TRIGGER + second)
    assert found.startswith("4: trigger U cannot be added")


def test_files_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "triggers.toml"
    file.write_bytes(b"# \xff\n")
    with pytest.raises(TriggerFileError, match="UTF-8"):
        read(file)
    file.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(TriggerFileError, match="more than"):
        read(file)


def test_names_of_conditions() -> None:
    assert condition_name(LabelContains) == "label_contains"
    assert len({condition_name(kind) for kind in CONDITIONS}) == len(CONDITIONS)
