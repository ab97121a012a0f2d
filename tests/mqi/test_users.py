"""Programs that say who they are, to a queue manager that asks."""

from pathlib import Path

import ibmmq
import pytest
from ibmmq import CMQC

import adapter.testing
from adapter.server import credentials
from tests.mqi.conftest import CHANNEL, conname, reason_of


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


def test_a_token_is_not_to_be_had(manager: adapter.testing.TestQueueManager) -> None:
    csp = ibmmq.CSP(Token="abc")
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.connect("QM1", CHANNEL, conname(manager), csp=csp)
    assert reason_of(refused) == CMQC.MQRC_FUNCTION_NOT_SUPPORTED
