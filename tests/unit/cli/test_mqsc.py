"""mqk mqsc: from the command line and from standard input."""

from tests.unit.cli.conftest import Mqk


def test_commands_come_from_the_command_line(at: Mqk) -> None:
    said = at("mqsc", "-c", "DEF QL(A) MAXDEPTH(5)", "-c", "DIS QL(A) MAXDEPTH", "-q")
    assert said.status == 0, said.err
    assert said.out.splitlines() == [
        "AMQ8006I: queue A created.",
        "AMQ8409I: queue details:",
        "   QUEUE(A)                                TYPE(QLOCAL)",
        "   MAXDEPTH(5)",
        "2 MQSC commands read.",
        "No command failed.",
    ]


def test_commands_come_from_standard_input(at: Mqk) -> None:
    said = at("mqsc", stdin=b"* a script\nDEF QL(B) +\n  MAXDEPTH(5)\nPING QMGR\n")
    assert said.status == 0, said.err
    assert said.out.splitlines()[0] == "     2 : DEF QL(B) MAXDEPTH(5)"
    assert "AMQ8415I: queue manager QM1 answers." in said.out


def test_the_status_says_whether_a_command_failed(at: Mqk) -> None:
    assert at("mqsc", "-c", "DEL QL(NONE)").status == 1
    assert at("mqsc", "-c", "FISH").status == 2
    assert at("mqsc", stdin=b"DEL QL(NONE)\nFISH\nDEF QL(C)\n").status == 2
    assert at("mqsc", "-c", "DIS QL(C)").status == 0


def test_what_is_no_text_is_a_failure(at: Mqk) -> None:
    said = at("mqsc", stdin=b"PING QMGR\n\xff\n")
    assert said.status == 1
    assert "not text in UTF-8" in said.err


def test_a_queue_manager_that_is_not_there_is_a_failure(mqk: Mqk) -> None:
    said = mqk("mqsc", "-c", "PING QMGR", "--qmgr", "127.0.0.1:1")
    assert said.status == 1
    assert "[MQRC_Q_MGR_NOT_AVAILABLE]" in said.err


def test_definitions_are_written_and_read_again(at: Mqk) -> None:
    at("mqsc", "-c", "DEF QL(DUMPED) MAXDEPTH(5)")
    said = at("mqsc", "--dump")
    assert said.status == 0, said.err
    assert "DEFINE QLOCAL('DUMPED') +\n   MAXDEPTH(5) +\n   REPLACE\n" in said.out
    assert "SYSTEM.DEFAULT" not in said.out
    everything = at("mqsc", "--dump", "--all")
    assert "SYSTEM.DEFAULT.LOCAL.QUEUE" in everything.out
    again = at("mqsc", "-q", stdin=everything.out.encode())
    assert again.status == 0, again.out
    assert at("mqsc", "--dump", "--all").out == everything.out


def test_what_cannot_be_dumped_is_a_failure(at: Mqk) -> None:
    at("queue", "define", "BROKEN", "--description", "two\nlines")
    said = at("mqsc", "--dump")
    at("queue", "delete", "BROKEN")
    assert said.status == 1
    assert "DESCR of queue BROKEN has a line break" in said.err


def test_a_dump_runs_no_command(at: Mqk) -> None:
    everything = at("mqsc", "--all")
    assert (everything.status, everything.out) == (2, "")
    assert "--all goes with --dump" in everything.err
    both = at("mqsc", "--dump", "-c", "PING QMGR")
    assert (both.status, both.out) == (2, "")
    assert "--dump runs no command" in both.err
