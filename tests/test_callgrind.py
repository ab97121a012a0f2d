"""Counts of instructions: callgrind's format is read, and a figure that has risen is found."""

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks import callgrind, instructions
from benchmarks.callgrind import Calls, Profile

DUMP = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 17
cmd: python -m work
part: 2
thread: 1

desc: Trigger: counted
positions: line
events: Ir

ob=(1) /usr/bin/python
fl=(1) ???
fn=(1) main
0 10
cob=(2) /lib/libc.so
cfi=(2) ???
cfn=(2) memcpy
calls=3 0
0 60
+4 5
cfn=(3) operator new(unsigned long)
calls=1 -2
* 9

fn=(2)
0 60

fn=(3)
-3 4
cfn=(2)
calls=2 0
0 5

totals: 79
"""


def read(text: str, into: Profile | None = None) -> Profile:
    found = Profile() if into is None else into
    callgrind.read(text.splitlines(keepends=True), found)
    return found


def test_a_dump_says_what_each_function_costs_alone() -> None:
    found = read(DUMP)
    assert found.alone == {"main": 15, "memcpy": 60, "operator new(unsigned long)": 4}
    assert found.total == 79


def test_a_dump_says_who_calls_whom() -> None:
    found = read(DUMP)
    assert found.callers("memcpy") == [
        ("main", Calls(3, 60)),
        ("operator new(unsigned long)", Calls(2, 5)),
    ]
    assert found.callers("main") == []


def test_dumps_of_several_threads_are_added() -> None:
    found = read(DUMP, read(DUMP))
    assert found.total == 2 * 79
    assert found.callers("memcpy")[0] == ("main", Calls(6, 120))


def test_an_empty_dump_has_no_instructions() -> None:
    assert read("version: 1\nevents: Ir\n\ntotals: 0\n").total == 0
    assert callgrind.dearest(Profile(), 1) == []


def test_the_dearest_functions_come_first_and_with_their_callers() -> None:
    first, caller, *_ = callgrind.dearest(read(DUMP), times=3)
    assert first.split() == ["20", "memcpy"]
    assert caller.split() == ["20", "in", "1.0", "calls", "of", "main"]
    assert len(callgrind.dearest(read(DUMP), times=3, most=1)) == 3


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "vgdb" else name)
    assert callgrind.missing() == callgrind.MISSING
    monkeypatch.setattr("shutil.which", lambda name: name)
    assert callgrind.missing() == ""


def test_without_valgrind_nothing_is_counted_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("sys.argv", ["instructions"])
    instructions.main()
    assert callgrind.MISSING in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["instructions", "--check"])
    with pytest.raises(SystemExit) as ended:
        instructions.main()
    assert not ended.value.code
    assert callgrind.MISSING in capsys.readouterr().out
    assert instructions.measure("127.0.0.1:1") == {}
    assert instructions.versions() == {}


NOW = {"python": "3.11.7", "valgrind": "3.19"}


def recorded(median: float, about: Mapping[str, str]) -> dict[str, Any]:
    row = {"name": "queue manager", "median": median}
    return {
        "measured": {"instructions": {"date": "2026-01-01", **about}},
        "parts": {"instructions": {"qm-waiting-compiled": row}},
    }


@pytest.mark.parametrize(
    ("found", "may_be"), [(900, True), (1000, True), (1050, True), (1051, False), (2000, False)]
)
def test_a_figure_may_rise_by_a_twentieth(found: int, may_be: bool) -> None:
    compared = instructions.compared(found, recorded(1000, NOW), NOW)
    assert compared.may_be is may_be
    assert f"{found:,} instructions, {found / 1000:.3f} of the 1,000" in compared.text


def test_figures_of_another_python_are_not_compared() -> None:
    compared = instructions.compared(2000, recorded(1000, {**NOW, "python": "3.12"}), NOW)
    assert compared.may_be
    assert "2,000 instructions; results.json has figures of python 3.12" in compared.text
    assert "nothing is compared" in compared.text


@pytest.mark.parametrize("measured", [{}, {"instructions": NOW}])
def test_without_recorded_figures_nothing_is_compared(measured: dict[str, Any]) -> None:
    recorded = {"measured": measured, "parts": {"instructions": {}}}
    compared = instructions.compared(2000, recorded, NOW)
    assert compared.may_be
    assert "nothing is compared" in compared.text
