"""Programs of a queue manager that checks authorities: what they are told, and what they may."""

from collections.abc import Callable, Iterator
from functools import partial

import ibmmq
import pytest
from ibmmq import CMQC, CMQCFC

import adapter
from adapter.administration.mqsc.execute import run
from adapter.server.access import credentials
from adapter.testing import TestQueueManager, queue_manager
from tests.mqi.conftest import CHANNEL, conname, reason_of

Connect = Callable[[str], ibmmq.QueueManager]
GRANTED = """
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app', 'acts', 'admin') AUTHADD(CONNECT, INQ)
SET AUTHREC PROFILE('ORDERS.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT, GET, BROWSE, INQ)
SET AUTHREC PROFILE('ORDERS.SECRET') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(NONE)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('acts') AUTHADD(ALTUSR)
SET AUTHREC PROFILE('A.MODEL') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET, PUT)
SET AUTHREC PROFILE('SYSTEM.ADMIN.COMMAND.QUEUE') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)
SET AUTHREC PROFILE('SYSTEM.ADMIN.COMMAND.QUEUE') OBJTYPE(QUEUE) PRINCIPAL('admin') AUTHADD(PUT)
SET AUTHREC PROFILE('SYSTEM.DEFAULT.MODEL.QUEUE') OBJTYPE(QUEUE) +
  PRINCIPAL('app', 'admin') AUTHADD(GET, DSP, INQ)
SET AUTHREC PROFILE('SYSTEM.DEFAULT.LOCAL.QUEUE') OBJTYPE(QUEUE) PRINCIPAL('admin') AUTHADD(DSP)
SET AUTHREC PROFILE('MADE.*') OBJTYPE(QUEUE) PRINCIPAL('admin') AUTHADD(CRT)
SET AUTHREC PROFILE('TREE') OBJTYPE(TOPIC) PRINCIPAL('app') AUTHADD(PUB)
"""


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestQueueManager]:
    folder = tmp_path_factory.mktemp("authorities")
    users, socket = folder / "users", folder / "socket"
    names = ("app", "acts", "admin", "new")
    credentials.write(users, {name: credentials.hash_password(name) for name in names})
    with (
        queue_manager("QM1", credentials_file=users, authorities=True, unix_path=socket) as one,
        adapter.connect(f"unix:{socket}") as operator,
    ):
        for name in ("ORDERS.IN", "ORDERS.SECRET"):
            operator.define_queue(name)
        operator.define_object("alias", "ORDERS.ALIAS", target="ORDERS.SECRET")
        operator.define_object("model", "A.MODEL", definition_type="PERMDYN")
        operator.define_object("topic", "TREE", topic_string="tree")
        script = run(operator, GRANTED)
        assert "No command failed." in script, script
        yield one


@pytest.fixture
def connect(manager: TestQueueManager) -> Iterator[Connect]:
    connected = []

    def of(user: str) -> ibmmq.QueueManager:
        connected.append(ibmmq.connect("QM1", CHANNEL, conname(manager), user=user, password=user))
        return connected[-1]

    yield of
    for one in connected:
        one.disconnect()


def refused(call: Callable[[], object]) -> int:
    with pytest.raises(ibmmq.MQMIError) as caught:
        call()
    return reason_of(caught)


def test_who_has_no_authority_to_connect_is_told_2035(connect: Connect) -> None:
    assert refused(lambda: connect("new")) == CMQC.MQRC_NOT_AUTHORIZED


def test_each_option_of_an_open_needs_its_own(connect: Connect) -> None:
    app = connect("app")
    queue = ibmmq.Queue(app, "ORDERS.IN", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put(b"x")
    assert queue.get() == b"x"
    queue.close()
    for options in (CMQC.MQOO_SET, CMQC.MQOO_OUTPUT | CMQC.MQOO_SET):
        assert refused(partial(ibmmq.Queue, app, "ORDERS.IN", options)) == CMQC.MQRC_NOT_AUTHORIZED


def test_the_name_that_is_opened_counts(connect: Connect) -> None:
    app = connect("app")
    ibmmq.Queue(app, "ORDERS.ALIAS", CMQC.MQOO_OUTPUT).close()
    opened = refused(lambda: ibmmq.Queue(app, "ORDERS.SECRET", CMQC.MQOO_OUTPUT))
    assert opened == CMQC.MQRC_NOT_AUTHORIZED
    od = ibmmq.OD(ObjectName=b"ORDERS.SECRET")
    assert refused(lambda: app.put1(od, b"x")) == CMQC.MQRC_NOT_AUTHORIZED


def test_a_context_is_a_right_of_its_own(connect: Connect) -> None:
    app = connect("app")
    for option in (CMQC.MQOO_SET_IDENTITY_CONTEXT, CMQC.MQOO_SET_ALL_CONTEXT):
        of = CMQC.MQOO_OUTPUT | option
        assert refused(partial(ibmmq.Queue, app, "ORDERS.IN", of)) == CMQC.MQRC_NOT_AUTHORIZED


def test_an_alternate_user_opens_by_its_authorities(connect: Connect) -> None:
    options = CMQC.MQOO_OUTPUT | CMQC.MQOO_ALTERNATE_USER_AUTHORITY
    od = ibmmq.OD(ObjectName=b"ORDERS.IN", AlternateUserId=b"app")
    ibmmq.Queue(connect("acts"), od, options).close()
    other = ibmmq.OD(ObjectName=b"ORDERS.SECRET", AlternateUserId=b"app")
    acts, app = connect("acts"), connect("app")
    assert refused(lambda: ibmmq.Queue(acts, other, options)) == CMQC.MQRC_NOT_AUTHORIZED
    assert refused(lambda: ibmmq.Queue(acts, od, CMQC.MQOO_OUTPUT)) == CMQC.MQRC_NOT_AUTHORIZED
    again = ibmmq.OD(ObjectName=b"ORDERS.IN", AlternateUserId=b"acts")
    assert refused(lambda: ibmmq.Queue(app, again, options)) == CMQC.MQRC_NOT_AUTHORIZED


def test_an_alternate_user_is_for_one_put_alone(connect: Connect) -> None:
    """Of MQPUT it is refused: who may put there was decided when the queue was opened."""
    od = ibmmq.OD(ObjectName=b"ORDERS.IN", AlternateUserId=b"app")
    acts, app = connect("acts"), connect("app")
    pmo = ibmmq.PMO(Options=CMQC.MQPMO_ALTERNATE_USER_AUTHORITY)
    acts.put1(od, b"x", ibmmq.MD(), pmo)
    queue = ibmmq.Queue(app, "ORDERS.IN", CMQC.MQOO_OUTPUT)
    put = refused(lambda: queue.put(b"x", ibmmq.MD(), pmo))
    assert put == CMQC.MQRC_OPTIONS_ERROR


def test_who_makes_a_dynamic_queue_may_do_everything_with_it(connect: Connect) -> None:
    app, acts = connect("app"), connect("acts")
    od = ibmmq.OD(ObjectName=b"A.MODEL", DynamicQName=b"APP.MADE")
    queue = ibmmq.Queue(app, od, CMQC.MQOO_INPUT_SHARED)
    ibmmq.Queue(app, "APP.MADE", CMQC.MQOO_SET | CMQC.MQOO_BROWSE).close()
    stranger = refused(lambda: ibmmq.Queue(acts, "APP.MADE", CMQC.MQOO_OUTPUT))
    assert stranger == CMQC.MQRC_NOT_AUTHORIZED
    queue.close(CMQC.MQCO_DELETE)


def test_topics(connect: Connect) -> None:
    app = connect("app")
    topic = ibmmq.Topic(app, topic_string="tree/a", open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"x")
    topic.close()
    other = refused(lambda: ibmmq.Topic(app, topic_string="bush", open_opts=CMQC.MQOO_OUTPUT))
    assert other == CMQC.MQRC_NOT_AUTHORIZED
    sub = ibmmq.Subscription(app)
    sd = ibmmq.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | CMQC.MQSO_NON_DURABLE)
    sd.set_vs("ObjectString", "tree/a")
    assert refused(lambda: sub.sub(sub_desc=sd)) == CMQC.MQRC_NOT_AUTHORIZED


def test_the_command_server_acts_for_the_user_of_the_request(connect: Connect) -> None:
    made = {CMQC.MQCA_Q_NAME: b"MADE.ONE", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
    pcf = ibmmq.PCFExecute(connect("app"), response_wait_interval=10_000)
    assert refused(lambda: pcf.MQCMD_CREATE_Q(made)) == CMQC.MQRC_NOT_AUTHORIZED
    grants = {
        CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"**",
        CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q,
        CMQCFC.MQIACF_AUTH_ADD_AUTHS: [CMQCFC.MQAUTH_ALL],
        CMQCFC.MQCACF_PRINCIPAL_ENTITY_NAMES: [b"app"],
    }
    assert refused(lambda: pcf.MQCMD_SET_AUTH_REC(grants)) == CMQC.MQRC_NOT_AUTHORIZED
    pcf.disconnect()
    pcf = ibmmq.PCFExecute(connect("admin"), response_wait_interval=10_000)
    pcf.MQCMD_CREATE_Q(made)
    pcf.MQCMD_DELETE_Q(made)  # who created it may
    pcf.disconnect()
