"""mqk connection: who is connected, stuck units, and ending one."""

import json
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.errors import BackedOut
from adapter.testing import TestQueueManager
from tests.support.tokens import Issuer, settings
from tests.unit.cli.conftest import Mqk


def test_a_connection_is_listed_and_ended(at: Mqk, manager: TestQueueManager) -> None:
    with adapter.connect(manager.address, application="billing", user="ann") as qm:
        qm.put("Q", "a")
        unit = qm.unit()
        unit.begin()
        assert qm.get("Q", unit=unit) is not None
        said = at("connection", "list")
        assert said.status == 0
        assert "mqk connection" not in said.out
        (row,) = [line.split() for line in said.out.splitlines() if "billing" in line]
        number = row[0]
        assert row[1:4] == ["billing", "ann", f"127.0.0.1:{row[3].rpartition(':')[2]}"]
        (told,) = [json.loads(line) for line in at("connection", "list", "--json").out.splitlines()]
        assert (told["units"], told["messages"], str(told["number"])) == (1, 1, number)
        assert told["session"] == unit.id.hex()[:32]
        stuck = at("connection", "list", "--units")
        assert unit.id.hex() in stuck.out
        (flying,) = map(json.loads, at("connection", "list", "--units", "--json").out.splitlines())
        assert (flying["unit"], flying["gets"], flying["puts"]) == (unit.id.hex(), 1, 0)
        assert flying["application"] == "billing"
        said = at("connection", "end", number)
        assert said.out == f"connection {number} was ended; 1 unit was backed out\n"
        with pytest.raises(BackedOut):
            unit.commit()
        message = qm.get("Q")
        assert message is not None
        assert message.backout_count == 1


def test_a_connection_that_calls_itself_as_the_command_does_is_listed(
    at: Mqk, manager: TestQueueManager
) -> None:
    with adapter.connect(manager.address, application="mqk connection", user="eve"):
        (told,) = map(json.loads, at("connection", "list", "--json").out.splitlines())
        assert (told["application"], told["user"]) == ("mqk connection", "eve")


def test_a_program_with_the_sdk_comes_back(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        (number,) = [one.number for one in qm.connections()]
        told = json.loads(at("connection", "end", number, "--json").out)
        assert told == {"connection": number, "ended": True, "units_backed_out": 0}
        qm.put("Q", "a")
        (again,) = [one.number for one in qm.connections()]
        assert again > number


def test_one_that_is_not_there(at: Mqk) -> None:
    said = at("connection", "end", 999)
    assert said.status == 1
    assert "connection 999 does not exist" in said.err
    assert "[MQRCCF_CONNECTION_ID_ERROR]" in said.err


def test_wrong_use(mqk: Mqk) -> None:
    assert mqk("connection", "end").status == 2
    assert mqk("connection", "end", "-3").status == 2


def test_a_command_is_of_the_user_of_its_token(
    mqk: Mqk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer, keys, token = Issuer(), tmp_path / "keys.pem", tmp_path / "token"
    keys.write_bytes(issuer.pem)
    monkeypatch.setenv("MQK_TOKEN_FILE", "")  # the option sets it
    with testing.queue_manager(tokens=settings(keys)) as manager:
        command = ("put", "Q", "--qmgr", manager.address)
        token.write_text(issuer.token("payroll"))
        with manager.connect(token=issuer.token("admin")) as qm:
            qm.define_queue("Q")
            assert mqk("--token-file", token, *command, stdin=b"x").status == 0
            message = qm.get("Q")
            assert message is not None
            assert message.user == "payroll"
        token.write_text(issuer.token(lasts_s=-1))
        said = mqk("--token-file", token, *command, stdin=b"x")
        assert (said.status, "the token has expired" in said.err) == (1, True)
        assert token.read_text() not in said.err
