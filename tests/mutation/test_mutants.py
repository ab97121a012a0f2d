"""Mutants are made of every rule there is, and a mutant that matters is found."""

import ast
from pathlib import Path

import pytest

from adapter.core.rules.drive.trigger_conditions import WAYS
from tests.mutation.mutants import ROOM, mutants, mutants_of

LEAST = 100


def test_every_refusal_and_every_decision_is_switched_off_once() -> None:
    found = mutants()
    names = [(one.module, one.name) for one in found]
    assert len(set(names)) == len(names) >= LEAST
    source = "".join(path.read_text() for path in ROOM.glob("rules/*/*.py"))
    refusals = [one for one in found if ": " in one.name]
    assert len(refusals) == source.count("raise Refusal")
    for one in found:
        ast.parse(one.text)


def test_every_condition_and_every_way_to_a_trigger_message_is_switched_off() -> None:
    path = ROOM / "rules" / "drive" / "trigger_conditions.py"
    text = path.read_text()
    found = {one.name: one.text for one in mutants_of(path)}
    assert len([name for name in found if name.endswith(" holds")]) == text.count(") -> bool:\n")
    assert len([name for name in found if name.startswith("no Way(")]) == len(WAYS)
    assert 'no Way("12a")' in found
    assert 'Way("11") without CN' in found
    assert 'Way("1") without *_4_TO_9' in found
    assert all(one != text for one in found.values())


def test_what_a_mutant_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutation.mutants.TOP", tmp_path)
    path = tmp_path / "rule.py"
    path.write_text(
        "def decide_a(qm):\n"
        "    if qm.full:\n"
        "        raise Refusal(\n"
        "            Reason.FULL, 'Q'\n"
        "        )\n"
        "    return Decision([])\n"
        "def apply_b(qm):\n"
        "    qm.b = 1\n"
    )
    decision, refusal, applied = mutants_of(path)
    assert decision.name == "decide_a"
    assert "return Decision([], Done(), qm.entry_n)\ndef apply_b" in decision.text
    assert refusal.name == "decide_a: Reason.FULL"
    assert "    if qm.full:\n        pass\n    return Decision([])\n" in refusal.text
    assert applied.text.endswith("def apply_b(qm):\n    return None\n")
