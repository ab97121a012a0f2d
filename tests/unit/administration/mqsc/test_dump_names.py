"""Names are data: what is in one is never a command, however a script is written and read."""

import itertools
from contextlib import suppress

import adapter
import adapter.testing
from adapter.administration.mqsc.dump import definitions
from adapter.administration.mqsc.execute import run, split_lines
from adapter.administration.mqsc.written import Problem, is_one_line
from adapter.servicebroker.errors import ServiceBrokerError

BREAKS = ("\u2028", "\u2029", "\x85", "\x1c", "\x1d", "\x1e", "\x0b", "\x0c")
"""What ends a line for Python, but not in a file."""
MARKS = (
    *BREAKS,
    "'",
    "''",
    '"',
    "+",
    "-",
    "*",
    "/*",
    ")",
    "(",
    ";",
    "\\",
    "\x1b[2J",
    "\u202e",
    "%s",
)
PAYLOADS = ("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('eve') AUTHADD(ALL)", "DEFINE QLOCAL(EVIL)", "x")
NASTY = [
    f"Q{before}{payload}{behind}"
    for (before, behind), payload in itertools.product(
        itertools.product(MARKS, ("", "*", " ", "+", "'")), PAYLOADS
    )
]


def test_names_of_a_corpus_are_no_commands_and_come_back() -> None:
    lines: list[str | Problem] = []
    with adapter.testing.queue_manager("QM1") as manager:
        with manager.connect_servicebroker() as broker:
            made = 0
            for name in NASTY:
                with suppress(ServiceBrokerError):  # too long for a topic, or a control character
                    broker.create_queue(name)
                    made += 1
            assert made > len(NASTY) // 3
        with manager.connect() as qm:
            qm.define_queue("A")
            for number, name in enumerate(NASTY):
                qm.define_object("subscription", name, topic_string=f"t/{number}", destination="A")
            lines = list(definitions(qm))
    script = [line for line in lines if isinstance(line, str)]
    assert not [line for line in script if not is_one_line(line)]
    text = "".join(f"{line}\n" for line in script)
    assert split_lines(text) == script
    left_out = [one.text for one in lines if isinstance(one, Problem)]
    with adapter.testing.queue_manager("QM1") as other, other.connect() as qm:
        assert run(qm, text).endswith("No command failed.\n")
        assert [one.name for one in qm.queues()] == ["A"]
        assert not qm.authorities(user="eve").records
        defined = {one.name for one in qm.objects("subscription")}
    expected = {name for name in NASTY if is_one_line(name)}
    assert defined == expected
    assert len(left_out) == len(set(NASTY) - expected)


def test_only_a_line_feed_ends_a_line() -> None:
    broken = [f"* A{one}DEFINE QLOCAL(EVIL)" for one in BREAKS]
    assert split_lines("\n".join(broken)) == broken
    assert split_lines("A\r\nB\n\nC\n") == ["A", "B", "", "C"]
    assert split_lines("") == []
