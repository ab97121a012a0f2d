"""Programs that say who they are, to a queue manager that asks."""

import ctypes
from pathlib import Path

import ibmmq
import pytest
from ibmmq import CMQC, CMQXC

import adapter.testing
from adapter.mqi import structs
from adapter.mqi.connecting import credentials_of
from adapter.mqi.reasons import MqiFailure
from adapter.server.access import credentials
from tests.mqi.conftest import CHANNEL, conname, reason_of
from tests.support.tokens import Issuer, settings


def test_users_and_passwords(tmp_path: Path) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"app": credentials.hash_password("secret")})
    with adapter.testing.queue_manager("QM1", credentials_file=str(users)) as manager:
        where = conname(manager)
        qmgr = ibmmq.connect("QM1", CHANNEL, where, user="app", password="secret")
        assert qmgr.is_connected
        qmgr.disconnect()
        csp = ibmmq.CSP(CSPUserId="app", CSPPassword="secret")
        qmgr = ibmmq.connect("QM1", CHANNEL, where, csp=csp)
        assert qmgr.is_connected
        qmgr.disconnect()
        for user, password in (("app", "wrong"), ("nobody", "secret")):
            with pytest.raises(ibmmq.MQMIError) as refused:
                ibmmq.connect("QM1", CHANNEL, where, user=user, password=password)
            assert reason_of(refused) == CMQC.MQRC_NOT_AUTHORIZED


def test_who_asks_for_no_authentication_is_not_who_the_structure_says() -> None:
    name = ctypes.create_string_buffer(b"intruder")
    said = dict.fromkeys(structs.MQCSP.fields, 0) | {
        "StrucId": b"CSP ",
        "Version": 1,
        "CSPUserIdPtr": ctypes.addressof(name),
        "CSPUserIdLength": 8,
    }
    for kind, user in ((CMQC.MQCSP_AUTH_NONE, ""), (CMQC.MQCSP_AUTH_USER_ID_AND_PWD, "intruder")):
        found = credentials_of(structs.MQCSP.write(said | {"AuthenticationType": kind}))
        assert found.user == user


def user_of(qmgr: ibmmq.QueueManager) -> str:
    """The user in a message that a program puts."""
    md = ibmmq.MD()
    ibmmq.Queue(qmgr, "Q").put(b"x")
    assert ibmmq.Queue(qmgr, "Q").get(None, md) == b"x"
    qmgr.disconnect()
    return str(md.UserIdentifier.decode()).rstrip()


def by_token(where: str, token: str) -> ibmmq.QueueManager:
    return ibmmq.connect("QM1", CHANNEL, where, csp=ibmmq.CSP(Token=token))


def test_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = Issuer()
    keys = tmp_path / "keys.pem"
    keys.write_bytes(issuer.pem)
    with adapter.testing.queue_manager("QM1", tokens=settings(keys)) as manager:
        with manager.connect(token=issuer.token()) as qm:
            qm.define_queue("Q")
        where, token = conname(manager), issuer.token("payroll")
        assert user_of(by_token(where, token)) == "payroll"
        cd = ibmmq.CD(ChannelName=CHANNEL.encode(), ConnectionName=where.encode())
        cd.TransportType, cd.ChannelType = CMQXC.MQXPT_TCP, CMQXC.MQCHT_CLNTCONN
        qmgr = ibmmq.QueueManager(None)
        qmgr.connect_with_options("QM1", cd=cd, token=token)
        assert user_of(qmgr) == "payroll"
        refused_with = {
            issuer.token(lasts_s=-1): CMQC.MQRC_NOT_AUTHORIZED,
            Issuer().token(): CMQC.MQRC_NOT_AUTHORIZED,
            "x" * 10_241: CMQC.MQRC_CSP_ERROR,
        }
        for wrong, reason in refused_with.items():
            with pytest.raises(ibmmq.MQMIError) as refused:
                by_token(where, wrong)
            assert reason_of(refused) == reason
        path = tmp_path / "token"
        path.write_text(token)
        monkeypatch.setenv("MQK_TOKEN_FILE", str(path))
        assert user_of(ibmmq.connect("QM1", CHANNEL, where)) == "payroll"


def test_an_mqcsp_without_its_token_is_refused(manager: adapter.testing.TestQueueManager) -> None:
    """Of an older version too: what lies where the token would be is another program's."""
    empty = structs.MQCSP.write(dict.fromkeys(structs.MQCSP.fields, 0) | {"StrucId": b"CSP "})
    for fields in ({"Version": 3}, {"Version": 2, "TokenPtr": 1, "TokenLength": 1}):
        given = structs.MQCSP.read(empty) | {"AuthenticationType": CMQC.MQCSP_AUTH_ID_TOKEN}
        with pytest.raises(MqiFailure) as refused:
            credentials_of(structs.MQCSP.write(given | fields))
        assert refused.value.reason == CMQC.MQRC_CSP_ERROR
