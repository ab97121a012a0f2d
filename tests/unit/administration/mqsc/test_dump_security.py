"""Authority and channel authentication records as a script, and as it is read again."""

from pathlib import Path

import adapter
import adapter.testing
from adapter.administration.mqsc.answers import is_warning
from adapter.administration.mqsc.dump import definitions
from adapter.administration.mqsc.written import Problem
from adapter.core.contract.authorities import APPLICABLE, AuthorityRecord, words_of
from adapter.core.contract.channel_rules import ChannelRule
from adapter.server.access import credentials
from tests.support.passwords import hash_cheaply

SOURCE = r"""
DEFINE QLOCAL(ORDERS)
ALTER QMGR CHLAUTH(ENABLED)
SET CHLAUTH('*') TYPE(BLOCKADDR) ADDRLIST('10.9.*', 'fd00:*')
SET CHLAUTH('*') TYPE(BLOCKUSER) USERLIST('*MQADMIN', 'o''neil', 'Äva')
SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS) WARN(YES) DESCR('all, but noted')
SET CHLAUTH('SHOP.*') TYPE(SSLPEERMAP) SSLPEER('CN=till*,O="Shop"') SSLCERTI('CN=CA') +
    ADDRESS('10.1-3.*') USERSRC(MAP) MCAUSER('till') CHCKCLNT(REQDADM)
SET CHLAUTH('SHOP.A') TYPE(USERMAP) CLNTUSER('ann') USERSRC(CHANNEL) CHCKCLNT(REQUIRED)
SET CHLAUTH('TO.*') TYPE(QMGRMAP) QMNAME('QM*') MCAUSER('far')
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann', 'o''neil') AUTHADD(CONNECT, INQ)
SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) GROUP('everyone') AUTHADD(DSP)
SET AUTHREC PROFILE(ORDERS) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(ALL)
SET AUTHREC PROFILE('ORDERS.S?') OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(NONE)
SET AUTHREC PROFILE('@CLASS') OBJTYPE(QUEUE) GROUP('makers') AUTHADD(CRT)
SET AUTHREC PROFILE('private$\orders') OBJTYPE(QUEUE) GROUP('tills') AUTHADD(GET, BROWSE)
SET AUTHREC PROFILE('//parts/It''s') OBJTYPE(SERVICE) PRINCIPAL('bench') AUTHADD(PUT)
SET AUTHREC PROFILE(SHOP) OBJTYPE(FEED) PRINCIPAL('ann') AUTHADD(CTRL)
"""
DUMPED = r"""
ALTER QMGR +
   CHLAUTH(ENABLED)
SET CHLAUTH('*') +
   TYPE(ADDRESSMAP) +
   ADDRESS('*') +
   DESCR('all, but noted') +
   USERSRC(NOACCESS) +
   WARN(YES) +
   ACTION(REPLACE)
SET CHLAUTH('*') +
   TYPE(BLOCKADDR) +
   ADDRLIST('10.9.*', 'fd00:*') +
   ACTION(REPLACE)
"""


def dumped(manager: adapter.testing.TestQueueManager) -> str:
    with manager.connect() as qm:
        lines = list(definitions(qm))
    assert not [line for line in lines if isinstance(line, Problem)]
    return "".join(f"{line}\n" for line in lines)


def kept(
    manager: adapter.testing.TestQueueManager,
) -> tuple[list[AuthorityRecord], list[ChannelRule]]:
    with manager.connect() as qm:
        return qm.authorities().records, qm.channel_rules().rules


def test_what_is_written_is_read_again_and_is_the_same() -> None:
    with adapter.testing.queue_manager("QM1") as manager:
        manager.mqsc(SOURCE)
        with manager.connect() as qm:
            for object_type, bits in APPLICABLE.items():
                profile = "" if object_type == "qmgr" else "ALL.OF.IT"
                words = words_of(bits)
                qm.set_authority(profile, object_type, users=["every"], add=words)
            qm.set_authority("private$\\" + "n" * 124, users=["long" * 16], add=["put"])
        script, before = dumped(manager), kept(manager)
    assert DUMPED in script
    assert len(before[0]) == 9 + len(APPLICABLE) + 1
    assert len(before[1]) == 6
    with adapter.testing.queue_manager("QM1") as other:
        for _ in range(2):
            answer = other.mqsc(script)
            assert answer.endswith("No command failed.\n"), answer
            warned = [line for line in answer.splitlines() if is_warning(line)]
            assert all("authorities are not checked" in line for line in warned), warned
            assert (dumped(other), kept(other)) == (script, before)


def test_records_of_dynamic_queues_are_left_out_with_them() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        manager.mqsc("DEFINE SUB(MAN) TOPICSTR(A) DESTCLAS(MANAGED)")
        before = dumped(manager)
        (made,) = (one.split()[2] for one in before.splitlines() if "is dynamic" in one)
        qm.set_authority(made, users=["ann"], add=["put"])
        assert dumped(manager) == before
        qm.set_authority("STAYS", users=["ann"], add=["put"])
        assert "PROFILE('STAYS')" in dumped(manager)


def test_what_mqsc_cannot_say_is_left_out_and_reported() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.set_authority("A", users=["ends "], add=["put"])
        qm.set_authority("B\u2028C", users=["ann"], add=["put"])
        long = "d" * 65
        qm.set_channel_rule("C", "ADDRESSMAP", address="*", source="CHANNEL", description=long)
        qm.set_channel_rule(
            "D", "BLOCKUSER", users=[f"{'u' * 60}{number:04}" for number in range(256)]
        )
        names = [f"{chr(39) * 60}{number:04}" for number in range(256)]
        qm.set_channel_rule("E", "BLOCKUSER", users=names)
        lines = list(definitions(qm))
    assert [line.text for line in lines if isinstance(line, Problem)] == [
        "channel authentication record C ADDRESSMAP has more than 64 characters in DESCR",
        "channel authentication record E BLOCKUSER has more characters than a command may have",
        "authority record A of ends  has a value with blanks at its end",
        "authority record B\u2028C of ann has a line break",
    ]
    assert "SET CHLAUTH('D') +" in lines
    assert "SET AUTHREC +" not in lines


def test_what_may_not_be_displayed_is_reported(tmp_path: Path) -> None:
    """Who restores from the script must know that it is not all."""
    users = tmp_path / "users"
    credentials.write(users, {"op": hash_cheaply("s")})
    with adapter.testing.queue_manager("QM1", credentials_file=users, authorities=True) as manager:
        with manager.connect() as root:
            root.set_role("operator", users=["op"])
            root.define_queue("ORDERS.SECRET")
            root.define_object("process", "P1", appl_id="x")
        with (
            manager.connect() as root,
            adapter.connect(manager.address, user="op", password="s") as op,
        ):
            assert not [line for line in definitions(op) if isinstance(line, Problem)]
            root.set_authority("ORDERS.SECRET", users=["op"], add=["none"])
            root.set_authority("P1", "process", users=["op"], add=["none"])
            lines = list(definitions(op))
            shown = [op.shows_all(kind) for kind in ("queue", "process", "topic")]
            assert (root.shows_all("queue"), root.shows_all("process")) == (True, True)
    assert shown == [False, False, True]
    said = "who may not display them (dsp) does not see all"
    problems = [line.text for line in lines if isinstance(line, Problem)]
    assert problems == [f"PROCESS: {said}", f"QLOCAL: {said}"]
    assert f"* left out: QLOCAL: {said}" in lines
    assert "ORDERS.SECRET')" not in str([line for line in lines if "DEFINE" in str(line)])
