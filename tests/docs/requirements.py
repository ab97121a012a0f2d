"""docs/reference/requirements.md: every requirement, in the words of the test that shows it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.spec.test_index import HERE, TOTALS, numbers_in, pending_numbers

SUBJECTS = {
    0: "Message Queuing Triggers of MSMQ",
    1: "Transactional queues of MSMQ",
    2: "Order in a transactional queue",
    3: "Service Broker",
    4: "Trigger messages of IBM MQ",
}
INTRODUCTION = """# Requirements

What mqk promises of the semantics of other products, one row a requirement: its number, its
statement in short, and a test that shows it. *Pending* ones have no test yet. The tests state their
requirements in full, with the nearest case in which each does not hold.
"""
HEADING = "| number | statement | shown by |\n|---|---|---|"
AGAIN = ("_programs", "_computers", "_kafka", "_spark", "_msmq")
NUMBERS = re.compile(r"\bS[0-4]\.\d+(?:, S[0-4]\.\d+)*(?:, [^:.]{0,60})?: ")
SENTENCE_END = re.compile(r"(?<=[a-z0-9)\]])[.](?= |$)")


class Shown(NamedTuple):
    """What a test says of a requirement."""

    number: str
    statement: str
    test: str
    file: str
    aside: bool = False  # the negative, or another outcome
    again: bool = False  # on a real Kafka, between computers, with programs
    company: int = 1  # requirements that the test shows


def page(made: str) -> str:
    """The page, from the tests, definitions.txt and pending.txt."""
    found = list(statements())
    parts = [made, INTRODUCTION]
    for seed, subject in SUBJECTS.items():
        numbers = [f"S{seed}.{n}" for n in range(1, TOTALS[seed] + 1)]
        rows = [row(number, [one for one in found if one.number == number]) for number in numbers]
        parts.append("\n".join([f"## S{seed}: {subject}\n", HEADING, *rows, ""]))
    return "\n".join(parts)


def row(number: str, tests: list[Shown]) -> str:
    """One requirement, with the test that shows it most plainly."""
    if not tests:
        assert number in pending_numbers(), number
        return f"| {number} | *pending* | |"
    first = min(tests, key=lambda one: (one.aside, one.again, one.company))
    more = f" and {len(tests) - 1} more" if tests[1:] else ""
    statement = first.statement[:1].upper() + first.statement[1:]
    return f"| {number} | {statement} | [`{first.test}`](../../tests/spec/{first.file}){more} |"


def statements() -> Iterator[Shown]:
    """Every statement of every test, in the order of files and lines; then the definitions."""
    tests = {}
    for file in sorted(HERE.glob("test_seed*.py")):
        for test in ast.walk(ast.parse(file.read_text())):
            if isinstance(test, ast.FunctionDef) and numbers_in(test.name):
                tests[test.name] = (test, file)
                yield from stated(test, file)
    for line in (HERE / "definitions.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            number, *names = line.split()
            for test, file in (tests[name] for name in names):
                text = " ".join((ast.get_docstring(test) or "").split())
                _, _, own = text.partition(f"{number}: ")
                yield Shown(number, sentence(own or text), test.name, file.name)


def stated(test: ast.FunctionDef, file: Path) -> Iterator[Shown]:
    """What one test says of each requirement that its name names."""
    text = " ".join((ast.get_docstring(test) or "").split())
    heads = list(NUMBERS.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        said = sentence(text[head.end() : end])
        aside = bool(re.search(r", [^S]", head[0]))
        again = file.stem.endswith(AGAIN)
        numbers = numbers_in(test.name)
        for number in numbers.intersection(re.findall(r"S[0-4]\.\d+", head[0])):
            yield Shown(number, said, test.name, file.name, aside, again, len(numbers))


def sentence(text: str) -> str:
    """The first sentence of a text, for a cell of a table."""
    first = SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    return first.strip().rstrip(";:.").replace("|", "\\|") + "."
