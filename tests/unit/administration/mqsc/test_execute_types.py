"""DISPLAY of the types of objects that the manual has: all of them, one of them, none here."""

from collections.abc import Iterator

import pytest

import adapter
import adapter.testing
from adapter.administration.mqsc.execute import Script

DEFINITIONS = """\
DEFINE QLOCAL(A) USAGE(XMITQ)
DEFINE QALIAS(A.ALIAS) TARGET(A)
DEFINE QREMOTE(A.REMOTE) RNAME(X) RQMNAME(QM2) XMITQ(A)
DEFINE CHANNEL(A.SERVER) CHLTYPE(SVRCONN)
DEFINE CHANNEL(A.RECEIVER) CHLTYPE(RCVR)
DEFINE TOPIC(A) TOPICSTR(a)
DEFINE AUTHINFO(A) AUTHTYPE(IDPWOS)
DEFINE NAMELIST(A) NAMES(X, Y, Z)
DEFINE NAMELIST(A.EMPTY)
"""


@pytest.fixture(name="filled", scope="module")
def filled_fixture() -> Iterator[adapter.Connection]:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        assert not [line for line in told(qm, DEFINITIONS) if line[:3] == "AMQ" and line[7] == "E"]
        yield qm


def told(qm: adapter.Connection, text: str) -> list[str]:
    """The answer to some commands."""
    return list(Script(qm, echo=False, summary=False).run(text.splitlines()))


def names(qm: adapter.Connection, command: str) -> list[str]:
    """The names of what is shown."""
    lines = told(qm, command)
    assert not [line for line in lines if "syntax error" in line], lines
    at = [number for number, line in enumerate(lines) if line[:3] == "AMQ" and line[7] == "I"]
    return sorted(lines[one + 1].split("(")[1].split(")")[0] for one in at)


@pytest.mark.parametrize("keyword", ["TYPE", "QTYPE"])
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("ALL", ["A", "A.ALIAS", "A.REMOTE"]),
        ("*", ["A", "A.ALIAS", "A.REMOTE"]),
        ("QLOCAL", ["A"]),
        ("qalias", ["A.ALIAS"]),
        ("QMODEL", []),
        ("QCLUSTER", []),
    ],
)
def test_queues(filled: adapter.Connection, keyword: str, wanted: str, found: list[str]) -> None:
    assert names(filled, f"DISPLAY QUEUE(A*) {keyword}({wanted})") == found
    assert names(filled, f"DISPLAY QUEUE(A*) {keyword}({wanted}) PUT") == found
    if wanted in ("QLOCAL", "ALL"):
        assert names(filled, f"DISPLAY QLOCAL(A*) {keyword}({wanted})") == ["A"]


@pytest.mark.parametrize("keyword", ["TYPE", "CHLTYPE"])
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("ALL", ["A.RECEIVER", "A.SERVER"]),
        ("SVRCONN", ["A.SERVER"]),
        ("RCVR", ["A.RECEIVER"]),
        *((one, []) for one in ("CLNTCONN", "SVR", "RQSTR", "CLUSSDR", "CLUSRCVR", "AMQP")),
    ],
)
def test_channels(filled: adapter.Connection, keyword: str, wanted: str, found: list[str]) -> None:
    assert names(filled, f"DISPLAY CHANNEL(A*) {keyword}({wanted})") == found
    assert names(filled, "DISPLAY CHANNEL(*) CHLTYPE(SDR)") == ["TO.A"]
    assert names(filled, "DISPLAY CHANNEL(*) TYPE(SDR) DESCR") == ["TO.A"]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("DISPLAY AUTHINFO(A*) AUTHTYPE(ALL)", ["A"]),
        ("DISPLAY AUTHINFO(A*) AUTHTYPE(IDPWOS)", ["A"]),
        ("DISPLAY AUTHINFO(A*) TYPE(ALL)", ["A"]),
        *((f"DISPLAY AUTHINFO(A*) AUTHTYPE({one})", []) for one in ("CRLLDAP", "OCSP", "IDPWLDAP")),
        ("DISPLAY TOPIC(A*) TYPE(ALL)", ["A"]),
        ("DISPLAY TOPIC(A*) TYPE(LOCAL)", ["A"]),
        ("DISPLAY TOPIC(A*) TYPE(CLUSTER)", []),
        ("DISPLAY PUBSUB TYPE(ALL)", ["QM1"]),
    ],
)
def test_other_kinds(filled: adapter.Connection, command: str, found: list[str]) -> None:
    assert names(filled, command) == found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("DEFTYPE EQ PREDEFINED", ["A"]),
        ("DEFTYPE NE PREDEFINED", ["A.MODEL", "A.SHORT"]),
        ("DEFTYPE EQ TEMPDYN", ["A.SHORT"]),
        ("DEFTYPE EQ PERMDYN", ["A.MODEL"]),
        ("TARGET EQ A", ["A.ALIAS"]),
    ],
)
def test_a_condition_is_on_what_each_kind_of_queue_has(
    filled: adapter.Connection, condition: str, found: list[str]
) -> None:
    for name, word in (("A.MODEL", "PERMDYN"), ("A.SHORT", "TEMPDYN")):
        told(filled, f"DEFINE QMODEL({name}) DEFTYPE({word}) REPLACE")
    assert names(filled, f"DISPLAY QUEUE(A*) WHERE({condition})") == found
    for name in ("A.MODEL", "A.SHORT"):
        told(filled, f"DELETE QMODEL({name})")


def test_a_channel_is_started_by_its_whole_name(filled: adapter.Connection) -> None:
    assert "started" in told(filled, "START CHANNEL(A.SERVER)")[0]
    assert "no channel A* exists" in told(filled, "START CHANNEL('A*')")[0]


@pytest.mark.parametrize("verb", ["DEFINE", "ALTER"])
def test_a_mistake_in_what_has_no_effect_is_refused(filled: adapter.Connection, verb: str) -> None:
    given = "CHLTYPE(SDR) CONNAME('a(1414)') XMITQ(A) SHORTRTY(10) DESC('b')"
    assert "accepted without effect" in told(filled, f"{verb} CHANNEL(X) {given}")[0]
    (answer, *_) = told(filled, f"{verb} CHANNEL(X) {given} NONSENSE(1)")
    assert answer.startswith("AMQ8405E: syntax error: CHANNEL has no attribute NONSENSE")


def test_a_name_moves_no_cursor(filled: adapter.Connection) -> None:
    told(filled, "DEFINE SUB('A\x1b[2J') TOPICSTR('a') DEST(A)")
    lines = told(filled, "DISPLAY SUB(*) SUBUSER")
    assert any("SUB(A.[2J)" in line for line in lines)
    assert all(line.isprintable() for line in lines)
    told(filled, "DELETE SUB('A\x1b[2J')")


@pytest.mark.parametrize(
    ("command", "cell"),
    [
        ("DISPLAY QUEUE(A) QTYPE", "TYPE(QLOCAL)"),
        ("DISPLAY QLOCAL(A) QTYPE CURDEPTH", "TYPE(QLOCAL)"),
        ("DISPLAY QUEUE(A*) WHERE(QTYPE EQ QALIAS)", "QUEUE(A.ALIAS)"),
        ("DISPLAY CHANNEL(A.SERVER) TYPE", "CHLTYPE(SVRCONN)"),
        ("DISPLAY TOPIC(A) TYPE", "TYPE(LOCAL)"),
        ("DISPLAY NAMELIST(A) NAMES NAMCOUNT", "NAMCOUNT(3)"),
        ("DISPLAY NAMELIST(A.EMPTY) NAMCOUNT", "NAMCOUNT(0)"),
        ("DISPLAY NAMELIST(A*) WHERE(NAMCOUNT GT 2)", "NAMELIST(A)"),
        ("DISPLAY NAMELIST(A)", "NAMCOUNT(3)"),
    ],
)
def test_a_type_and_a_count_are_asked_for_by_name(
    filled: adapter.Connection, command: str, cell: str
) -> None:
    assert cell in " ".join(told(filled, command)[1:]).split()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("DISPLAY QUEUE(*) TYPE(FISH)", "TYPE takes one of QLOCAL, QALIAS"),
        ("DISPLAY QL(*) TYPE(QALIAS, QLOCAL)", "TYPE takes one of QLOCAL, ALL, *, not QALIAS"),
        ("DISPLAY QSTATUS(*) TYPE(FISH)", "TYPE takes one of QUEUE, not FISH"),
        ("DISPLAY QSTATUS(*) QTYPE(QLOCAL)", "has no attribute QTYPE"),
        ("DISPLAY CHANNEL(*) CHLTYPE(FISH)", "CHLTYPE takes one of SVRCONN"),
        ("DISPLAY QUEUE(*) QTYPE(QALIAS) TYPE(QLOCAL)", "TYPE is given twice"),
        ("DISPLAY PROCESS(*) TYPE(ALL)", "has no attribute TYPE"),
        ("ALTER NAMELIST(SYSTEM.DEFAULT.NAMELIST) NAMCOUNT(2)", "NAMCOUNT cannot be set"),
    ],
)
def test_other_types_are_wrong(filled: adapter.Connection, command: str, problem: str) -> None:
    assert problem in told(filled, command)[0]
