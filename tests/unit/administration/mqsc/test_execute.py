"""Commands done on a queue manager, and what is told of each."""

import re

import pytest

import adapter
from adapter.administration import values
from adapter.administration.kinds import DEFINED, Kind
from adapter.administration.mqsc.answers import shown_value
from adapter.administration.mqsc.execute import Script, run
from adapter.core.attributes.table import AttributeRow
from adapter.testing import TestQueueManager
from tests.support.attribute_samples import given_rows, needed, samples

ROWS = [
    pytest.param(kind, row, id=f"{kind.word}.{row.attribute.keyword}")
    for kind in DEFINED.values()
    if kind.word != "SUB"  # what they take depends on the others: they have a test of their own
    for row in given_rows(kind.given)
]


def told(qm: adapter.Connection, text: str) -> list[str]:
    """The answer to one command."""
    return list(Script(qm, echo=False, summary=False).run(text.splitlines()))


def shown(qm: adapter.Connection, text: str) -> dict[str, str]:
    """What the answer shows of one object, by keyword; bare words by themselves."""
    cells = {}
    for line in told(qm, text)[1:]:
        for cell in filter(None, (line[3:43].strip(), line[43:].strip())) if _two(line) else [line]:
            word, _, value = cell.strip().partition("(")
            cells[word] = value.removesuffix(")")
    return cells


def _two(line: str) -> bool:
    return line[42:43] == " " and line[43:44] != " "


def quoted(row: AttributeRow, value: object) -> str:
    """The parameter that gives the value."""
    written = values.text(row, value)
    if row.attribute.bare:
        return written
    if row.attribute.keyword == values.NAMES:
        return f"NAMES({written or chr(39) * 2})"
    if row.type is int or values.members(row):
        return f"{row.attribute.keyword}({written})"
    return row.attribute.keyword + "('" + written.replace("'", "''") + "')"


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_every_attribute_that_is_defined_is_displayed(
    qm: adapter.Connection, kind: Kind, row: AttributeRow
) -> None:
    for value in samples(row):
        if kind.word == "QMGR":
            answer = told(qm, f"ALTER QMGR {quoted(row, value)}")
            asked = f"DISPLAY QMGR {row.attribute.keyword}"
        else:
            others = [
                quoted(kind.given[name], other)
                for name, other in needed(kind.kind).items()
                if name != row.name
            ]
            given = " ".join([quoted(row, value), *others])
            answer = told(qm, f"DEFINE {kind.word}('T') {given} REPLACE")
            asked = f"DISPLAY {kind.word}('T') {row.attribute.keyword}"
        assert re.match(r"AMQ\d{4}[IW]: ", answer[0]), answer
        lines = [cell.strip() for line in told(qm, asked)[1:] for cell in (line, line[43:])]
        assert shown_value(row, value) in lines, lines
    if kind.word != "QMGR":
        told(qm, f"DELETE {kind.word}('T')")
    else:
        told(qm, f"ALTER QMGR {quoted(row, row.default)}")


def test_a_transcript(manager: TestQueueManager) -> None:
    text = """\
* orders
DEFINE QLOCAL(ORDERS.IN) DESCR('It''s in') +
       MAXDEPTH(10) MAXMSGL(100) BOTHRESH(3)
DEF QA(ORDERS) TARGET(ORDERS.IN)
DIS QUEUE(ORDERS*) DESCR MAXDEPTH
DIS QUEUE(ORDERS*) WHERE(MAXDEPTH LT 11) TYPE(QLOCAL) TARGET
ALT QL(ORDERS.IN) MAXDEPTH(5) NOSHARE
DIS QL(ORDERS.IN) MAXDEPTH SHARE
DIS QL(ORDERS.IN) WHERE(MAXDEPTH GT 5)
DEL QA(ORDERS)
CLEAR QL(ORDERS.IN)
PING QMGR
DEL QL(ORDERS.IN)
DIS QL(ORDERS.IN)
"""
    assert (
        manager.mqsc(text)
        == """\
     2 : DEFINE QLOCAL(ORDERS.IN) DESCR('It''s in') MAXDEPTH(10) MAXMSGL(100) BOTHRESH(3)
AMQ8006I: queue ORDERS.IN created.
     4 : DEF QA(ORDERS) TARGET(ORDERS.IN)
AMQ8006I: queue ORDERS created.
     5 : DIS QUEUE(ORDERS*) DESCR MAXDEPTH
AMQ8409I: queue details:
   QUEUE(ORDERS)                           TYPE(QALIAS)
   DESCR( )
AMQ8409I: queue details:
   QUEUE(ORDERS.IN)                        TYPE(QLOCAL)
   DESCR(It's in)                          MAXDEPTH(10)
     6 : DIS QUEUE(ORDERS*) WHERE(MAXDEPTH LT 11) TYPE(QLOCAL) TARGET
AMQ8409I: queue details:
   QUEUE(ORDERS.IN)                        TYPE(QLOCAL)
   MAXDEPTH(10)
     7 : ALT QL(ORDERS.IN) MAXDEPTH(5) NOSHARE
AMQ8008I: queue ORDERS.IN changed.
     8 : DIS QL(ORDERS.IN) MAXDEPTH SHARE
AMQ8409I: queue details:
   QUEUE(ORDERS.IN)                        TYPE(QLOCAL)
   MAXDEPTH(5)                             NOSHARE
     9 : DIS QL(ORDERS.IN) WHERE(MAXDEPTH GT 5)
AMQ8147E: no queue ORDERS.IN meets the condition: check the name, or define it \
[MQRC_UNKNOWN_OBJECT_NAME, 2085].
    10 : DEL QA(ORDERS)
AMQ8007I: queue ORDERS deleted.
    11 : CLEAR QL(ORDERS.IN)
AMQ8022I: queue ORDERS.IN cleared: 0 messages discarded.
    12 : PING QMGR
AMQ8415I: queue manager QM1 answers.
    13 : DEL QL(ORDERS.IN)
AMQ8007I: queue ORDERS.IN deleted.
    14 : DIS QL(ORDERS.IN)
AMQ8147E: no queue ORDERS.IN exists: check the name, or define it \
[MQRC_UNKNOWN_OBJECT_NAME, 2085].
12 MQSC commands read.
2 commands failed: lines 9, 14.
"""
    )


def test_figures_are_shown(qm: adapter.Connection) -> None:
    told(qm, "DEF QL(DEEP)")
    qm.put("DEEP", "x")
    with qm.queue("DEEP", open_for="input"):
        found = shown(qm, "DIS QL(DEEP) CURDEPTH IPPROCS OPPROCS")
        status = shown(qm, "DIS QSTATUS(DEEP) TYPE(QUEUE) MONITOR")
    assert (found["CURDEPTH"], found["IPPROCS"], found["OPPROCS"]) == ("1", "1", "0")
    assert (status["CURDEPTH"], status["UNCOM"]) == ("1", "0")
    assert told(qm, "CLEAR QL(DEEP)") == ["AMQ8022I: queue DEEP cleared: 1 message discarded."]


def test_a_star_means_the_objects_of_the_system_too(qm: adapter.Connection) -> None:
    dead = "SYSTEM.DEAD.LETTER.QUEUE"
    qm.put(dead, "x")
    assert any(dead in line for line in told(qm, "DIS QL(*) WHERE(CURDEPTH GT 0)"))
    assert any(dead in line for line in told(qm, "DIS QS(*) WHERE(CURDEPTH GT 0)"))
    assert any("SYSTEM.DEF.SVRCONN" in line for line in told(qm, "DIS CHL(*)"))
    told(qm, f"CLEAR QL({dead})")


def test_connections_are_shown_and_ended(qm: adapter.Connection, manager: TestQueueManager) -> None:
    with manager.connect(application="victim", user="amy"):
        found = shown(qm, "DIS CONN(*) WHERE(APPLTAG EQ 'victim')")
        assert (found["USERID"], found["APPLTYPE"]) == ("amy", "USER")
        ident = found["CONN"]
        assert shown(qm, f"DIS CONN({ident}) APPLTAG")["APPLTAG"] == "victim"
        assert told(qm, f"STOP CONN({ident})")[0].startswith("AMQ8457I")
        assert told(qm, f"DIS CONN({ident})")[0].startswith("AMQ8147E")


def test_the_queue_manager_tells_its_status(qm: adapter.Connection) -> None:
    heading, *_ = told(qm, "DIS QMSTATUS ALL")
    assert heading == "AMQ8705I: queue manager status details:"
    found = shown(qm, "DIS QMSTATUS ALL")
    assert (found["CMDSERV"], found["STATUS"], found["CHINIT"]) == ("STOPPED", "RUNNING", "RUNNING")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["STARTDA"])
    assert re.fullmatch(r"\d\d\.\d\d\.\d\d", found["STARTTI"])
    assert int(found["CONNS"]) >= 1
    assert shown(qm, "DIS PUBSUB")["STATUS"] == "ACTIVE"
    assert told(qm, "DIS PUBSUB TYPE(CHILD)")[0].startswith("AMQ8147E")
    assert shown(qm, "DIS CMDSERV") == {"QMNAME": "QM1", "STATUS": "STOPPED"}


def test_handles_are_shown(qm: adapter.Connection) -> None:
    told(qm, "DEF QL(OPEN)")
    assert told(qm, "DIS QS(OPEN) TYPE(HANDLE)")[0].startswith("AMQ8147E")
    with qm.queue("OPEN", open_for="input") as queue:
        queue.put("x")
        lines = told(qm, "DIS QS(OPEN) TYPE(HANDLE) INPUT OUTPUT WHERE(APPLTAG EQ 'a test')")
        assert lines[2].split() == ["APPLTAG(a", "test)", "INPUT(SHARED)"]
        connection = shown(qm, "DIS CONN(*) WHERE(APPLTAG EQ 'a test')")["CONN"]
        handles = told(qm, f"DIS CONN({connection}) TYPE(HANDLE) OBJNAME OPENOPTS")
        assert "   OBJNAME(OPEN)                           OPENOPTS(2)" in handles
        both = told(qm, f"DIS CONN({connection}) TYPE(ALL)")
        assert sum("TYPE(CONN)" in line for line in both) == 1
        assert sum("TYPE(HANDLE)" in line for line in both) == 2
        assert "   OBJNAME(OPEN)                           OPENOPTS(16)" in handles


def test_like_takes_the_attributes_of_another(qm: adapter.Connection) -> None:
    told(qm, "DEF QL(FIRST) MAXDEPTH(3) DESCR('one') TRIGGER")
    told(qm, "DEF QL(SECOND) LIKE(FIRST) DESCR('two')")
    found = shown(qm, "DIS QL(SECOND)")
    assert (found["MAXDEPTH"], found["DESCR"]) == ("3", "two")
    assert "TRIGGER" in found
    assert "queue NONE does not exist" in told(qm, "DEF QL(THIRD) LIKE(NONE)")[0]


@pytest.mark.parametrize(
    ("command", "number", "why"),
    [
        ("DEF QL(SYSTEM.DEFAULT.LOCAL.QUEUE)", "AMQ8150E", "REPLACE"),
        ("DEF QA(SYSTEM.DEFAULT.LOCAL.QUEUE)", "AMQ8150E", "2100"),
        ("DEL QL(NONE)", "AMQ8147E", "NONE"),
        ("ALT QA(NONE) TARGET(A)", "AMQ8147E", "NONE"),
        ("DEL PROCESS(NONE)", "AMQ8147E", "NONE"),
        ("DIS QL(N*)", "AMQ8147E", "N*"),
        ("DIS NAMELIST(NONE)", "AMQ8147E", "NONE"),
        ("DEF QL('no name')", "AMQ8424E", "2152"),
        ("DIS QL('A?')", "AMQ8424E", "star"),
        ("DEF QL(A) MAXDEPTH(-1)", "AMQ8405E", "MAXDEPTH"),
        ("DEF QL(A) MAXDEPTH(99999999999)", "AMQ8405E", "MAXDEPTH"),
        ("STOP CONN(00000000000F4240)", "AMQ8101E", "3174"),
    ],
)
def test_a_refusal_has_its_number_and_its_reason(
    qm: adapter.Connection, command: str, number: str, why: str
) -> None:
    (answer,) = told(qm, command)
    assert answer.startswith(f"{number}: "), answer
    assert why in answer, answer
    assert not re.search(r"[a-z]_[a-z]|=True", answer), answer


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("CLEAR QALIAS(A)", "local queue"),
        ("CLEAR PROCESS(A)", "unknown command CLEAR PROCESS"),
        ("DEFINE QUEUE(A)", "unknown command DEFINE QUEUE"),
        ("DEFINE QMGR", "unknown command DEFINE QMGR"),
        ("DEFINE QSTATUS(A)", "unknown command DEFINE QSTATUS"),
        ("ALTER CONN(A)", "unknown command ALTER CONN"),
        ("DELETE QMGR", "unknown command DELETE QMGR"),
        ("PING QL(A)", "unknown command PING QLOCAL"),
        ("DISPLAY CLRTYPE", "unknown object type CLRTYPE"),
        ("DEFINE SUB TOPICSTR('a')", "SUB takes a name"),
        ("SET AUTHREC PROFILE(A) OBJTYPE(FISH)", "OBJTYPE takes one of"),
        ("SET AUTHREC PROFILE(A) OBJTYPE(QUEUE)", "needs GROUP or PRINCIPAL"),
        ("SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) GROUP(G)", "needs AUTHADD or AUTHRMV"),
        ("SET AUTHREC GROUP(G) AUTHADD(GET)", "needs OBJTYPE"),
        ("SET AUTHREC OBJTYPE(QUEUE) GROUP(G) AUTHADD(GET)", "needs PROFILE"),
        ("SET AUTHREC PROFIL(A)", "did you mean PROFILE"),
        ("SET CHLAUTH(A)", "needs TYPE"),
        ("SET CHLAUTH(A) TYPE(USERMAP)", "needs CLNTUSER"),
        ("SET CHLAUTH(A) TYPE(USERMAP FISH)", "one value"),
        ("DEFINE LISTENER(A) PORT(70000)", "PORT takes 0 to 65535"),
        ("DEFINE LISTENER(A) PORT(X)", "whole number"),
        ("DEFINE LISTENER(A) REPLACE(YES)", "takes no value"),
        ("PING QMGR ALL", "no parameter"),
        ("STOP CONN(XYZ)", "16 digits"),
        ("ALTER QL(A)", "no attribute to change"),
        ("DEFINE QL(A) FISH(1)", "no attribute FISH"),
        ("DEFINE QL(A) CURDEPTH(1)", "CURDEPTH cannot be set"),
    ],
)
def test_what_is_no_command_is_told_with_the_place(
    qm: adapter.Connection, command: str, why: str
) -> None:
    answer = told(qm, command)
    assert answer[0].startswith("AMQ8405E: "), answer
    assert why in answer[0], answer
    assert answer[1].startswith("   near: ")


def test_one_failure_does_not_keep_the_next_from_being_done(qm: adapter.Connection) -> None:
    text = run(qm, "FISH\nDEL QL(NONE)\nPING QMGR\nEND\nDEF QL(NEVER)")
    assert "answers" in text
    assert "3 MQSC commands read." in text
    assert "1 command not run because of syntax errors: line 1." in text
    assert "1 command failed: line 2." in text
    assert "NEVER" not in text


def test_nothing_is_done_and_told_of_nothing(qm: adapter.Connection) -> None:
    assert run(qm, "* nothing\n") == "0 MQSC commands read.\nNo command failed.\n"


def test_a_lost_queue_manager_ends_the_script() -> None:
    with (
        adapter.testing.queue_manager("QM1") as other,
        other.connect(reconnect_timeout_s=0) as qm,
    ):
        script = Script(qm)
        other.crash()
        with pytest.raises(adapter.errors.ConnectionBroken):
            list(script.run(["PING QMGR", "PING QMGR"]))
        assert script.failed == [1]


def test_the_life_of_a_subscription(qm: adapter.Connection) -> None:
    told(qm, "DEFINE QLOCAL(SUBBED)")
    define = "DEFINE SUB('my: one') TOPICSTR('fruit/+') DEST(SUBBED) USERDATA('u')"
    assert told(qm, define) == ["AMQ8094I: subscription my: one created."]
    qm.publish("fruit/apple", "x")
    assert qm.get("SUBBED") is not None
    found = shown(qm, "DISPLAY SUB('my*')")
    assert (found["SUB"], found["TOPICSTR"]) == ("my: one", "fruit/+")
    assert (found["DESTCLAS"], found["REQONLY"]) == ("PROVIDED", "NO")
    told(qm, "ALTER SUB('my: one') USERDATA('v')")
    assert shown(qm, "DISPLAY SUB('my: one') USERDATA")["USERDATA"] == "v"
    told(qm, "DEFINE SUB(MINE) TOPICSTR(A) DESTCLAS(MANAGED)")
    assert shown(qm, "DISPLAY SUB(MINE) DEST")["DEST"].startswith("SYSTEM.MANAGED.DURABLE.")
    for name in ("MINE", "'my: one'"):
        told(qm, f"DELETE SUB({name})")
    assert qm.objects("subscription") == []


def test_what_is_retained_is_cleared_by_topic(qm: adapter.Connection) -> None:
    for topic in ("price/apple", "price/pear", "weather"):
        qm.publish(topic, "x", retain=True)
    cleared = told(qm, "CLEAR TOPICSTR('price/#') CLRTYPE(RETAINED)")
    assert cleared == [
        "AMQ8022I: topic string price/# cleared: publications retained for 2 topics discarded."
    ]
    again = told(qm, "CLEAR TOPICSTR('weather') CLRTYPE(RETAINED) SCOPE(LOCAL)")
    assert again[0].endswith("for 1 topic discarded.")


@pytest.mark.parametrize(
    "more",
    [
        "",
        "CLRTYPE(ALL)",
        "CLRTYPE(RETAINED,ALL)",
        "CLRTYPE(RETAINED) SCOPE(GLOBAL)",
        "CLRTYPE(RETAINED) FORCE",
    ],
)
def test_topics_are_cleared_of_nothing_else(qm: adapter.Connection, more: str) -> None:
    assert told(qm, f"CLEAR TOPICSTR('a') {more}")[0].startswith("AMQ8405E")


def test_a_subscription_has_a_level(qm: adapter.Connection) -> None:
    qm.define_queue("LEVELLED")
    told(qm, "DEFINE SUB(LEVEL) TOPICSTR('a') DEST(LEVELLED) SUBLEVEL(5)")
    assert shown(qm, "DISPLAY SUB(LEVEL) SUBLEVEL")["SUBLEVEL"] == "5"
    (refused,) = told(qm, "ALTER SUB(LEVEL) SUBLEVEL(2)")
    assert "MQRC_SUBLEVEL_NOT_ALTERABLE" in refused


def test_a_subscription_has_a_selection_and_a_priority(qm: adapter.Connection) -> None:
    qm.define_queue("OWN")
    sub = "SUB(S)"
    told(qm, f"DEFINE {sub} TOPICSTR('a') DEST(OWN) SELECTOR('n > 1')")
    assert shown(qm, f"DISPLAY {sub} PUBPRTY")["PUBPRTY"] == "ASPUB"
    told(qm, f"ALTER {sub} PUBPRTY(ASQDEF)")
    assert shown(qm, f"DISPLAY {sub} PUBPRTY")["PUBPRTY"] == "ASQDEF"
    told(qm, f"ALTER {sub} PUBPRTY(7)")
    found = shown(qm, f"DISPLAY {sub} SELECTOR PUBPRTY")
    assert (found["SELECTOR"], found["PUBPRTY"]) == ("n > 1", "7")
    (refused,) = told(qm, f"ALTER {sub} SELECTOR('n > 2')")
    assert "MQRC_SELECTOR_NOT_ALTERABLE" in refused
    (refused,) = told(qm, "DEFINE SUB(T) TOPICSTR('a') DEST(OWN) SELECTOR('n >')")
    assert "MQRC_SELECTOR_SYNTAX_ERROR" in refused


DEVELOPER = """\
STOP LISTENER('SYSTEM.LISTENER.TCP.1') IGNSTATE(YES)
* queues
DEFINE QLOCAL('DEV.QUEUE.1') REPLACE
DEFINE QLOCAL('DEV.DEAD') REPLACE
ALTER QMGR DEADQ('DEV.DEAD')
DEFINE TOPIC('DEV.BASE.TOPIC') TOPICSTR('dev/') REPLACE
DEFINE AUTHINFO('DEV.AUTHINFO') AUTHTYPE(IDPWOS) CHCKCLNT(REQDADM) CHCKLOCL(OPTIONAL) +
  ADOPTCTX(YES) REPLACE
ALTER QMGR CONNAUTH('DEV.AUTHINFO')
REFRESH SECURITY(*) TYPE(CONNAUTH)
DEFINE CHANNEL('DEV.ADMIN.SVRCONN') CHLTYPE(SVRCONN) REPLACE
DEFINE CHANNEL('DEV.APP.SVRCONN') CHLTYPE(SVRCONN) MCAUSER('app') REPLACE
SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS) ACTION(REPLACE)
SET CHLAUTH('DEV.ADMIN.SVRCONN') TYPE(BLOCKUSER) USERLIST('nobody') ACTION(REPLACE)
SET CHLAUTH('DEV.ADMIN.SVRCONN') TYPE(USERMAP) CLNTUSER('admin') USERSRC(CHANNEL) +
  DESCR('Allows admin') ACTION(REPLACE)
SET AUTHREC PRINCIPAL('app') OBJTYPE(QMGR) AUTHADD(CONNECT,INQ,ALTUSR)
SET AUTHREC PROFILE('DEV.**') PRINCIPAL('app') OBJTYPE(QUEUE) AUTHADD(BROWSE,GET,INQ,PUT)
DEFINE LISTENER('DEV.LISTENER.TCP') TRPTYPE(TCP) PORT(1414) CONTROL(QMGR) REPLACE
START LISTENER('DEV.LISTENER.TCP') IGNSTATE(YES)
"""
"""Such as the container image of IBM MQ runs for developers."""


def test_a_script_for_developers_runs_to_its_end() -> None:
    with adapter.testing.queue_manager("QM1") as other:
        lines = other.mqsc(DEVELOPER).splitlines()
        with other.connect() as qm:
            assert [one.name for one in qm.queues("DEV*")] == ["DEV.DEAD", "DEV.QUEUE.1"]
            (manager,) = qm.objects("queue_manager")
        assert manager.attributes["connection_auth"] == "DEV.AUTHINFO"
    assert not [line for line in lines if re.match(r"AMQ\d{4}E", line)]
    assert lines[-2:] == [
        (
            "8 commands not supported, without effect as a whole or in part: "
            "lines 1, 13, 14, 15, 17, 18, 19, 20."
        ),
        "No command failed.",
    ]
    rights = [line for line in lines if line.startswith("AMQ8862W: authority record DEV.** ")]
    assert len(rights) == 1
    assert "authorities are not checked" in rights[0]


SAVED = """\
DEFINE CHANNEL('C') CHLTYPE(SVRCONN) TRPTYPE(TCP) +
*  ALTDATE(2024-01-01) +
   CERTLABL(' ') COMPHDR(NONE) COMPMSG(NONE) DESCR(' ') DISCINT(0) HBINT(300) KAINT(AUTO) +
   MAXINST(999999999) MAXINSTC(999999999) MAXMSGL(4194304) MCAUSER(' ') MONCHL(QMGR) +
   RCVDATA(' ') RCVEXIT(' ') SCYDATA(' ') SCYEXIT(' ') SENDDATA(' ') SENDEXIT(' ') +
   SHARECNV(10) SSLCAUTH(REQUIRED) SSLCIPH(' ') SSLPEER(' ') REPLACE
DEFINE TOPIC('T') TYPE(LOCAL) TOPICSTR('a') DESCR(' ') CLUSTER(' ') CLROUTE(DIRECT) +
   COMMINFO('SYSTEM.DEFAULT.COMMINFO.MULTICAST') CUSTOM(' ') DEFPRESP(ASPARENT) +
   DEFPRTY(ASPARENT) DEFPSIST(ASPARENT) DURSUB(ASPARENT) MCAST(DISABLED) MDURMDL(' ') +
   MNDURMDL(' ') NPMSGDLV(ASPARENT) PMSGDLV(ASPARENT) PROXYSUB(FIRSTUSE) PUB(ASPARENT) +
   PUBSCOPE(ASPARENT) SUB(ASPARENT) SUBSCOPE(ASPARENT) USEDLQ(ASPARENT) WILDCARD(PASSTHRU) REPLACE
DEFINE QLOCAL('SAVED') REPLACE
DEFINE SUB('SAVED') TOPICSTR('a') TOPICOBJ(' ') DEST('SAVED') DESTQMGR('QM1') +
   DESTCORL('000000000000000000000000000000000000000000000000') DESTCLAS(PROVIDED) +
   EXPIRY(UNLIMITED) PSPROP(MSGPROP) PUBAPPID(' ') PUBPRTY(ASPUB) REQONLY(NO) SELECTOR(' ') +
   SUBLEVEL(1) SUBSCOPE(ALL) USERDATA(' ') VARUSER(ANY) WSCHEMA(TOPIC) REPLACE
ALTER QMGR MONQ(OFF) PSMODE(ENABLED) CCSID(1208) MAXHANDS(256) MAXUMSGS(10000) TREELIFE(1800)
"""


def test_saved_definitions_with_default_values_are_read_without_a_word(
    qm: adapter.Connection,
) -> None:
    answers = told(qm, SAVED)
    assert [line[:8] for line in answers] == [
        "AMQ8014I",
        "AMQ8690I",
        "AMQ8006I",
        "AMQ8094I",
        "AMQ8005I",
    ], answers
    for command in ("DELETE SUB(SAVED)", "DELETE TOPIC(T)", "DELETE QL(SAVED)", "DELETE CHL(C)"):
        told(qm, command)


def test_values_without_effect_are_reported(qm: adapter.Connection) -> None:
    (created,) = told(qm, "DEFINE QL(NOTED) MONQ(HIGH) QDPHIEV(ENABLED) MAXDEPTH(7)")
    assert created == (
        "AMQ8006W: queue NOTED created; not supported, without effect: MONQ(HIGH), "
        "QDPHIEV(ENABLED)."
    )
    assert shown(qm, "DIS QL(NOTED) MONQ MAXDEPTH CLUSTER") == {
        "QUEUE": "NOTED",
        "TYPE": "QLOCAL",
        "MONQ": "QMGR",
        "MAXDEPTH": "7",
        "CLUSTER": " ",
    }
    assert "MONQ" in shown(qm, "DIS QL(NOTED) ALL")
    assert "MONQ" not in shown(qm, "DIS QL(NOTED)")
    (altered,) = told(qm, "ALTER QL(NOTED) STATQ(ON)")
    assert altered.startswith("AMQ8008W: queue NOTED changed; not supported")
    (missing,) = told(qm, "ALTER QL(NOT.THERE) STATQ(ON)")
    assert missing.startswith("AMQ8147E")
    (refused,) = told(qm, "ALTER QL(NOTED) NPMCLASS(HIGH)")
    assert refused.startswith("AMQ8101E: ALTER QLOCAL NOTED failed: NPMCLASS takes only")
    assert told(qm, "DIS QL(NOTED) WHERE(MONQ EQ QMGR)")[1].startswith("   QUEUE(NOTED)")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("STOP CHANNEL(SYSTEM.DEF.SVRCONN)", "STOP CONN"),
        ("MOVE QLOCAL(A) TOQLOCAL(B)", "cannot be moved"),
        ("RESUME QMGR CLUSTER(C)", "clusters are not supported"),
        ("DEFINE SERVICE(A) CONTROL(QMGR)", "services are not supported"),
        ("RESET CHANNEL(A)", "channels to other queue managers are not supported"),
        ("DEFINE CHANNEL(A) CHLTYPE(AMQP)", "SVRCONN channels only"),
        ("DEFINE AUTHINFO(A) AUTHTYPE(CRLLDAP) CONNAME(' ')", "users are in a file"),
        ("DEFINE CHANNEL(A) CHLTYPE(SVRCONN) TRPTYPE(LU62)", "TCP only"),
        ("DEFINE COMMINFO(A) TYPE(MULTICAST)", "multicast is not supported"),
    ],
)
def test_what_cannot_be_done_here_says_why(qm: adapter.Connection, command: str, why: str) -> None:
    (answer,) = told(qm, command)
    assert answer.startswith("AMQ8101E: ")
    assert why in answer
    assert "MQRC_FUNCTION_NOT_SUPPORTED" in answer


def test_remote_queues_are_defined(qm: adapter.Connection) -> None:
    (answer,) = told(qm, "DEFINE QREMOTE(FAR) RNAME(A) RQMNAME(QM2) XMITQ(QM2)")
    assert answer == "AMQ8006I: queue FAR created."
    told(qm, "DELETE QR(FAR)")


def test_channels_for_clients_are_always_started(qm: adapter.Connection) -> None:
    (answer,) = told(qm, "START CHANNEL(SYSTEM.DEF.SVRCONN)")
    assert answer.startswith("AMQ8018I: channel SYSTEM.DEF.SVRCONN is started")
    assert told(qm, "START CHANNEL(NONE)")[0].startswith("AMQ8147E")


def test_deleting_what_is_not_there_may_be_no_error(qm: adapter.Connection) -> None:
    assert told(qm, "DELETE QL(GONE) IGNSTATE(YES)")[0].startswith("AMQ8007I")
    assert told(qm, "DELETE QL(GONE) IGNSTATE(NO)")[0].startswith("AMQ8147E")
    told(qm, "DEFINE QL(GONE)")
    assert told(qm, "DELETE QL(GONE) AUTHREC(NO)")[0].startswith("AMQ8405E")
    assert told(qm, "DELETE QL(GONE) AUTHREC(YES) TYPE(QLOCAL)")[0].startswith("AMQ8007I")


def test_a_subscription_is_found_by_its_id(qm: adapter.Connection) -> None:
    told(qm, "DEFINE QL(BY.ID)")
    told(qm, "DEFINE SUB(BY.ID) TOPICSTR('a') DEST(BY.ID)")
    ident = shown(qm, "DISPLAY SUB(BY.ID) SUBID")["SUBID"]
    assert shown(qm, f"DISPLAY SUB SUBID({ident}) DEST")["SUB"] == "BY.ID"
    assert told(qm, f"ALTER SUB SUBID({ident}) USERDATA('u')")[0].startswith("AMQ8097I")
    assert told(qm, f"DELETE SUB SUBID({ident})") == ["AMQ8095I: subscription BY.ID deleted."]
    assert told(qm, f"DELETE SUB SUBID({ident})")[0].startswith("AMQ8147E")
    assert told(qm, f"DISPLAY SUB SUBID({ident})")[0].startswith("AMQ8147E")
    told(qm, "DELETE QL(BY.ID)")


def test_channels_listener_topics_and_subscriptions_have_a_status(
    qm: adapter.Connection, manager: TestQueueManager
) -> None:
    with adapter.connect(manager.address, application="seen"):
        mine = shown(qm, "DIS CHSTATUS(*) CURRENT WHERE(RAPPLTAG EQ 'seen') STATUS CONNAME")
    assert (mine["CHLTYPE"], mine["STATUS"]) == ("SVRCONN", "RUNNING")
    assert mine["CONNAME"].startswith("127.0.0.1")
    assert told(qm, "DIS CHS(OTHER)")[0].startswith("AMQ8147E")
    port = manager.address.rpartition(":")[2]
    assert shown(qm, "DIS LISTENER(*) PORT")["PORT"] == port
    assert shown(qm, "DIS LSSTATUS(*) PORT STATUS")["STATUS"] == "RUNNING"
    told(qm, "DEF TOPIC(FRUIT) TOPICSTR(fruit) PUB(DISABLED)")
    told(qm, "DEF QL(FRUIT.OUT)")
    told(qm, "DEF SUB(FRUIT) TOPICSTR('apple') TOPICOBJ(FRUIT) DEST(FRUIT.OUT)")
    apple = shown(qm, "DIS TPSTATUS('FRUIT/apple') PUB SUBCOUNT ADMIN")
    assert (apple["PUB"], apple["SUBCOUNT"], apple["ADMIN"]) == ("DISABLED", "1", " ")
    assert shown(qm, "DIS SBSTATUS(FRUIT) DURABLE")["DURABLE"] == "YES"
    for command in ("DELETE SUB(FRUIT)", "DELETE TOPIC(FRUIT)", "DELETE QL(FRUIT.OUT)"):
        told(qm, command)


def test_rights_are_displayed_as_absent(qm: adapter.Connection) -> None:
    (answer,) = told(qm, "DIS CHLAUTH(*) MATCH(RUNCHECK)")
    assert answer.startswith("AMQ8147E: no channel authentication record fits")
    (answer,) = told(qm, "DIS AUTHREC")
    assert answer.startswith("AMQ8147E: no authority record fits")


def test_totals_are_reset(qm: adapter.Connection) -> None:
    told(qm, "DEF QL(COUNTED)")
    qm.put("COUNTED", "x")
    found = shown(qm, "RESET QSTATS(COUNTED)")
    assert (found["HIQDEPTH"], found["MSGSIN"], found["MSGSOUT"]) == ("1", "1", "0")
    assert shown(qm, "RESET QSTATS(COUNTED)")["MSGSIN"] == "0"
    assert told(qm, "RESET QSTATS(NONE)")[0].startswith("AMQ8147E")
    assert told(qm, "RESET QSTATS(COUNTED) ALL")[0].startswith("AMQ8405E")


def test_mistyped_names_are_guessed(qm: adapter.Connection) -> None:
    qm.define_queue("invoices.in")
    qm.define_queue("INVOICES.OUT")
    end = "[MQRC_UNKNOWN_OBJECT_NAME, 2085]."
    text = "AMQ8147E: no queue INVOICES.IN exists: did you mean 'invoices.in'"
    for verb in ("DISPLAY", "DELETE", "CLEAR"):
        (answer,) = told(qm, f"{verb} QLOCAL(invoices.in)")
        assert answer.startswith(text), answer
        assert answer.endswith(end)
    (answer,) = told(qm, "ALTER QLOCAL(INVOICES.OTU) MAXDEPTH(3)")
    assert "did you mean INVOICES.OUT" in answer
    (answer,) = told(qm, "DIS QLOCAL(NOTHING.LIKE.IT)")
    assert "check the name, or define it" in answer
    qm.delete_queue("invoices.in")
    qm.delete_queue("INVOICES.OUT")


def test_objects_have_dates(qm: adapter.Connection) -> None:
    told(qm, "DEF QL(DATED)")
    told(qm, "ALTER QL(DATED) MAXDEPTH(3)")
    told(qm, "DEF PROCESS(DATED)")
    found = shown(qm, "DIS QL(DATED) CRDATE CRTIME ALTDATE ALTTIME CLUSTER")
    for word in ("CRDATE", "ALTDATE"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found[word])
    for word in ("CRTIME", "ALTTIME"):
        assert re.fullmatch(r"\d\d\.\d\d\.\d\d", found[word])
    assert shown(qm, "DIS PROCESS(DATED) ALTDATE")["ALTDATE"] == found["ALTDATE"]
    told(qm, "DELETE QL(DATED)")
    told(qm, "DELETE PROCESS(DATED)")


@pytest.mark.parametrize("word", ["REPLACE", "PURGE", "FORCE"])
def test_a_choice_is_made_once(qm: adapter.Connection, word: str) -> None:
    verb = {"REPLACE": "DEFINE", "PURGE": "DELETE", "FORCE": "ALTER"}[word]
    answer = told(qm, f"{verb} QLOCAL(A) {word} NO{word}")
    assert f"{word} or NO{word} is given twice" in answer[0]
