"""Every requirement has a test that is named by its number, or stands in pending.txt; never both.

A test is named `test_s<seed>_<number>_...`, or marked by `test_s2_01_s2_03_...` for several. A
requirement that only defines a word stands in definitions.txt, with the tests that show it.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
TOTALS = {0: 27, 1: 24, 2: 15, 3: 39, 4: 67}
NUMBER = re.compile(r"s([0-4])_(\d+)(?=_)")


def required() -> set[str]:
    """All numbers of the requirements."""
    return {f"S{seed}.{n}" for seed, total in TOTALS.items() for n in range(1, total + 1)}


def numbers_in(name: str) -> set[str]:
    """The requirements that a test's name names."""
    if not name.startswith("test_s"):
        return set()
    return {f"S{seed}.{int(number)}" for seed, number in NUMBER.findall(name.lower() + "_")}


def spec_tests(files: Iterable[Path]) -> dict[str, str]:
    """The tests of some files, and their docstrings."""
    return {
        node.name: ast.get_docstring(node) or ""
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def definitions(text: str, tests: Iterable[str]) -> tuple[set[str], list[str]]:
    """The numbers in definitions.txt, and what is wrong with it: lines of a number and tests."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    known = set(tests)
    wrong = [
        f"{number}: no test {' '.join(shown)} shows it"
        for number, *shown in rows
        if not shown or not known.issuperset(shown)
    ]
    return {row[0] for row in rows}, wrong


def covered(files: Iterable[Path]) -> set[str]:
    """The requirements that the tests of some files name."""
    names = (
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    )
    return {number for name in names for number in numbers_in(name)}


def problems(have: set[str], pending: list[str]) -> list[str]:
    """What is wrong with the index."""
    waiting = set(pending)
    return [
        *(f"{number}: neither tested nor pending" for number in required() - have - waiting),
        *(f"{number}: tested and pending" for number in have & waiting),
        *(f"{number}: no such requirement" for number in (have | waiting) - required()),
        *(f"{number}: pending twice" for number in waiting if pending.count(number) > 1),
    ]


def pending_numbers() -> list[str]:
    """The lines of pending.txt."""
    return (HERE / "pending.txt").read_text().split()


def test_there_are_172() -> None:
    assert len(required()) == 172


def test_every_requirement_is_tested_or_pending() -> None:
    tests = spec_tests(HERE.glob("test_seed*.py"))
    defined, wrong = definitions((HERE / "definitions.txt").read_text(), tests)
    assert wrong == []
    assert problems(covered(HERE.glob("test_seed*.py")) | defined, pending_numbers()) == []


def test_every_test_states_its_requirement() -> None:
    for name, text in spec_tests(HERE.glob("test_seed*.py")).items():
        assert numbers_in(name), f"{name} names no requirement"
        missing = [number for number in numbers_in(name) if number not in text]
        assert not missing, f"{name} does not state {missing}"


def test_a_definition_names_tests_that_are_there() -> None:
    text = "# a comment\nS1.16 test_s1_17_a test_s1_18_b\nS3.1\nS3.2 test_gone\n"
    numbers, wrong = definitions(text, ["test_s1_17_a", "test_s1_18_b"])
    assert numbers == {"S1.16", "S3.1", "S3.2"}
    assert wrong == ["S3.1: no test  shows it", "S3.2: no test test_gone shows it"]


def test_the_index_notices_what_is_wrong() -> None:
    one = "S3.1"
    others = required() - {one}
    assert problems(others, []) == [f"{one}: neither tested nor pending"]
    assert problems(required(), [one]) == [f"{one}: tested and pending"]
    assert problems(others, [one, "S2.99"]) == ["S2.99: no such requirement"]
    assert problems(others, [one, one]) == [f"{one}: pending twice"]
