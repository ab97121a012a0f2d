"""Definitions as a script, and what a new queue manager makes of it."""

import pytest

import adapter
from adapter.administration import objects
from adapter.administration.kinds import DEFINED
from adapter.administration.mqsc.answers import is_warning
from adapter.administration.mqsc.dump import definitions
from adapter.administration.mqsc.execute import run
from adapter.administration.mqsc.written import Problem
from adapter.core.attributes.system import DELAYED_QUEUE, OBJECTS, QUEUES
from adapter.testing import TestQueueManager
from tests.support.attribute_samples import given_rows, needed, samples

SOURCE = """\
ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) MAXDEPTH(77) DESCR('changed')
DEFINE QLOCAL(A) DESCR('It''s (a), + -') TRIGGER NOSHARE MAXDEPTH(5000) PUT(DISABLED)
DEFINE QLOCAL('lower') DEFPSIST(YES)
DEFINE QALIAS(AL) TARGET(A)
DEFINE NAMELIST(N) NAMES(A, B)
DEFINE CHANNEL(D) CHLTYPE(CLNTCONN)
DEFINE TOPIC(T) TOPICSTR('fruit/Äpfel') DEFPRTY(3)
DEFINE SUB('my: sub') TOPICSTR('x/#') TOPICOBJ(T) DEST(A) SELECTOR('n = ''it''') PUBPRTY(ASQDEF)
DEFINE SUB(MAN) TOPICSTR(A) DESTCLAS(MANAGED)
ALTER QMGR DEADQ(A) MARKINT(NOLIMIT)
"""
DUMPED = """\
* Definitions of queue manager QM1, as far as they are not the defaults.
* To recreate them on another queue manager: mqk mqsc < THIS_FILE
DEFINE CHANNEL('D') +
   CHLTYPE(CLNTCONN) +
   REPLACE
DEFINE NAMELIST('N') +
   NAMES('A', 'B') +
   REPLACE
DEFINE QLOCAL('A') +
   DESCR('It''s (a), + -') +
   PUT(DISABLED) +
   MAXDEPTH(5000) +
   NOSHARE +
   TRIGGER +
   REPLACE
ALTER QLOCAL('SYSTEM.DEFAULT.LOCAL.QUEUE') +
   DESCR('changed') +
   MAXDEPTH(77)
* queue SYSTEM.MANAGED.DURABLE.0000000001000002 is dynamic, and is not written
DEFINE QLOCAL('lower') +
   DEFPSIST(YES) +
   MAXDEPTH(77) +
   REPLACE
DEFINE QALIAS('AL') +
   TARGET('A') +
   REPLACE
DEFINE TOPIC('T') +
   TOPICSTR('fruit/Äpfel') +
   DEFPRTY(3) +
   REPLACE
DEFINE SUB('MAN') +
   TOPICSTR('A') +
   DESTCLAS(MANAGED) +
   REPLACE
DEFINE SUB('my: sub') +
   TOPICSTR('fruit/Äpfel/x/#') +
   DEST('A') +
   SELECTOR('n = ''it''') +
   PUBPRTY(ASQDEF) +
   REPLACE
ALTER QMGR +
   DEADQ('A') +
   MARKINT(NOLIMIT)
"""


def dumped(manager: TestQueueManager, everything: bool = False) -> str:
    with manager.connect() as qm:
        lines = list(definitions(qm, everything=everything))
    assert not [line for line in lines if isinstance(line, Problem)]
    return "".join(f"{line}\n" for line in lines)


def restored(script: str, everything: bool = False) -> str:
    """What a new queue manager that has run the script writes of itself."""
    with adapter.testing.queue_manager("QM1") as other:
        answer = other.mqsc(script)
        assert answer.endswith("No command failed.\n"), answer
        assert not [line for line in answer.splitlines() if is_warning(line)]
        return dumped(other, everything)


def without_numbers(script: str) -> list[str]:
    """Leave out what is not written again: the queues of managed subscriptions."""
    return [line for line in script.splitlines() if "is dynamic" not in line]


def test_a_new_queue_manager_has_no_definitions() -> None:
    with adapter.testing.queue_manager("QM1") as manager:
        assert len(dumped(manager).splitlines()) == 2


def test_queues_of_service_broker_are_not_written() -> None:
    """DEFINE would make queues of MQ of them: it is refused."""
    with adapter.testing.queue_manager("QM1") as manager:
        with manager.connect_servicebroker() as broker:
            broker.create_queue("Parts")
        with manager.connect() as qm:
            lines = [line for line in definitions(qm) if isinstance(line, str)]
    assert [line for line in lines if "parts" in line] == [
        "* queue broker$\\parts is one of Service Broker, and is not written"
    ]


@pytest.mark.parametrize("everything", [False, True])
def test_what_is_written_is_read_again_and_is_the_same(everything: bool) -> None:
    with adapter.testing.queue_manager("QM1") as manager:
        manager.mqsc(SOURCE)
        script = dumped(manager, everything)
    if not everything:
        assert script == DUMPED
    again = restored(script, everything)
    assert without_numbers(again) == without_numbers(script)


def test_every_value_of_every_attribute_is_read_again() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        for kind in DEFINED.values():
            if kind.word not in ("SUB", "QMGR"):
                define_samples(qm, kind.kind)
        script = dumped(manager)
    assert restored(script) == script


ATTRIBUTES_MAX = max(len(list(given_rows(kind.given))) for kind in DEFINED.values())


@pytest.mark.parametrize("number", range(ATTRIBUTES_MAX))
def test_altering_what_every_queue_manager_has_is_written_and_nothing_else(number: int) -> None:
    """A definition with REPLACE would reset the attributes that it does not give."""
    with adapter.testing.queue_manager("QM1") as manager:
        with manager.connect() as qm:
            for kind, name in [*(("queue", name) for name in QUEUES), *OBJECTS]:
                if name != DELAYED_QUEUE:
                    alter_one(qm, kind, name, number)
        script, everything = dumped(manager), dumped(manager, everything=True)
    assert restored(script, everything=True) == everything
    assert restored(everything, everything=True) == everything


def alter_one(qm: adapter.Connection, kind: str, name: str, number: int) -> None:
    """Give the attribute of this number, if the kind has it, a value that it does not have."""
    table = next(one for one in DEFINED.values() if one.kind == kind)
    row = dict(enumerate(given_rows(table.given))).get(number)
    if row is None:
        return
    (found,) = objects.find(qm, table, name)
    values = [name] if row.name == "topic_string" else samples(row)  # of each topic another one
    for value in [one for one in values if one != found.value(row)][-1:]:
        objects.alter(qm, table, name, {row.name: value})


def define_samples(qm: adapter.Connection, kind: str) -> None:
    """Define an object for each value of each attribute."""
    table = next(one for one in DEFINED.values() if one.kind == kind).given
    for number, row in enumerate(given_rows(table)):
        for at, value in enumerate(samples(row)):
            name = f"{kind.upper()[:4]}.{number}.{at}"
            attributes = needed(kind) | {row.name: value}
            if kind == "topic" and row.name == "topic_string" and not value:
                continue
            if kind == "topic":
                attributes = {"topic_string": name} | attributes
            if kind == "export" and row.name != "queue":
                attributes["queue"] = name  # each has a queue of its own
            if kind == "queue":
                qm.define_queue(name, **attributes)
            else:
                qm.define_object(kind, name, **attributes)


def test_what_mqsc_cannot_say_is_left_out_and_reported(qm: adapter.Connection) -> None:
    qm.define_queue("BROKEN.LINE", description="two\nlines", max_depth=3)
    lines = list(definitions(qm))
    text = "DESCR of queue BROKEN.LINE has a line break"
    assert Problem(text) in lines
    assert f"* left out: {text}" in lines
    assert "DEFINE QLOCAL('BROKEN.LINE') +" in lines
    qm.delete_queue("BROKEN.LINE")


def test_blanks_that_mq_does_not_fill_up_with_are_kept_and_others_are_reported(
    qm: adapter.Connection,
) -> None:
    qm.define_queue("BLANKS", description="ends so ", trigger_data="a\xa0")
    qm.define_object("topic", "BLANK.TOPIC", topic_string="a\u2003")
    lines = list(definitions(qm))
    text = "DESCR of queue BLANKS ends with a blank, which no command keeps"
    assert [line for line in lines if isinstance(line, Problem)] == [Problem(text)]
    qm.delete_queue("BLANKS")
    qm.delete_object("topic", "BLANK.TOPIC")
    told = run(qm, "\n".join(line for line in lines if isinstance(line, str)))
    assert "No command failed" in told
    (queue,), (topic,) = qm.queues("BLANKS"), qm.objects("topic", "BLANK.TOPIC")
    assert queue.attributes["description"] == ""
    assert (queue.attributes["trigger_data"], topic.attributes["topic_string"]) == (
        "a\xa0",
        "a\u2003",
    )
    qm.delete_queue("BLANKS")
    qm.delete_object("topic", "BLANK.TOPIC")


def test_a_definition_is_no_longer_than_a_command_may_be(qm: adapter.Connection) -> None:
    qm.define_queue("LONG.SUB")
    quotes = "'" * 10_000
    qm.define_object(
        "subscription", "LONG", topic_string=quotes, user_data=quotes, destination="LONG.SUB"
    )
    problems = [line for line in definitions(qm) if isinstance(line, Problem)]
    assert problems == [Problem("subscription LONG has more characters than a command may have")]
    qm.delete_object("subscription", "LONG")
    qm.delete_queue("LONG.SUB")


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("forbidding", ["SUB(DISABLED)", "DURSUB(NO)", "SUB(DISABLED) DURSUB(NO)"])
@pytest.mark.parametrize("topic", ["NEWS", "SYSTEM.BASE.TOPIC"])
def test_subscriptions_come_before_what_forbids_them(
    topic: str, forbidding: str, everything: bool
) -> None:
    with adapter.testing.queue_manager("QM1") as manager:
        made = manager.mqsc(
            "DEFINE QLOCAL(L)\nDEFINE TOPIC(NEWS) TOPICSTR('news') DEFPRTY(3)\n"
            "DEFINE SUB(S) TOPICSTR('news/x') DEST(L)\n"
            f"ALTER TOPIC(SYSTEM.DEFAULT.TOPIC) {forbidding}\nALTER TOPIC({topic}) {forbidding}\n"
        )
        assert "No command failed" in made
        script = dumped(manager, everything)
        assert "No command failed" in manager.mqsc(script)
        assert dumped(manager, everything) == script
    assert restored(script, everything) == script
