"""The audit of a queue manager on a real Kafka: shown, followed, and there after kill -9."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import adapter
from adapter.cli.main import run
from adapter.core.contract import audit
from adapter.errors import Error
from adapter.server.access import credentials
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.settings import ServerSettings
from tests.support.backlog import until
from tests.support.passwords import hash_cheaply
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka


def test_what_is_on_record_is_shown_and_followed(
    kafka: AnyKafka,
    unique_name: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, socket = unique_name("QM"), tmp_path / "s"
    credentials.write(tmp_path / "users", {"ann": hash_cheaply("right")})
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path) as server:
        told = ServerSettings(
            queue_manager=name,
            kafka=KafkaSettings(bootstrap_servers=kafka.bootstrap_servers),
            port=server.port,
            unix_path=str(socket),
            credentials_file=str(tmp_path / "users"),
            authorities=True,
            audit=True,
        )
        server.write_settings(msgspec.json.encode(told))
        server.start()

        def shown(*options: str) -> list[dict[str, Any]]:
            capsys.readouterr()
            assert run(["audit", "--qmgr", f"unix:{socket}", "--json", *options]) == 0
            return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

        follow = [sys.executable, "-m", "adapter.cli", "audit", "--follow", "--json"]
        with subprocess.Popen(
            [*follow, "--name", name, "--bootstrap-server", kafka.bootstrap_servers],
            stdout=subprocess.PIPE, text=True,
        ) as following:  # fmt: skip
            try:
                drive(server.address, f"unix:{socket}")
                until(lambda: "delete queue" in str(shown("--kind", "command")))
                assert following.stdout is not None
                followed: list[dict[str, Any]] = []
                while not followed or followed[-1].get("command") != "delete queue":
                    followed.append(json.loads(following.stdout.readline()))
            finally:
                following.kill()
        found = shown()
        assert followed == found
        judge(found)

        server.kill()
        server.start()
        until(lambda: len(shown("--kind", audit.TAKEN_OVER)) == 2)
        first, second = shown("--kind", audit.TAKEN_OVER)
        assert (second["owner_before"], second["process"]) == (first["owner"], str(server.pid))
        assert found == shown()[: len(found)]
        capsys.readouterr()
        assert run(["audit", "--qmgr", f"unix:{socket}", "--kind", "messages_browsed"]) == 0
        assert " messages_browsed  Q user=" in capsys.readouterr().out


def drive(address: str, socket: str) -> None:
    """Do one of everything that is on record."""
    ann: dict[str, Any] = {"user": "ann", "reconnect_timeout_s": 0.0}
    with pytest.raises(Error):
        adapter.connect(address, password="a guess", **ann)
    with adapter.connect(socket) as operator:
        operator.define_queue("Q", max_depth=7)
        operator.alter_queue("Q", max_depth=9)
        operator.set_role("app-put", "Q", users=["ann"])
        operator.put("Q", b"a body")
        with operator.queue("Q") as queue:
            assert len(list(queue.browse())) == 1
        with (
            adapter.connect(address, password="right", **ann) as qm,
            pytest.raises(Error),
        ):
            qm.get("Q")
        operator.delete_queue("Q", purge=True)


def judge(found: list[dict[str, Any]]) -> None:
    """Look at what is on record of what drive() did."""
    assert [one["kind"] for one in found[:3]] == [
        audit.TAKEN_OVER, audit.NOT_AUTHENTICATED, audit.COMMAND,
    ]  # fmt: skip
    (altered,) = [one for one in found if one.get("command") == "alter queue"]
    assert (altered["name"], altered["before"]) == ("Q", '{"max_depth":7}')
    assert (altered["after"], altered["outcome"]) == ('{"max_depth":9}', "done")
    (browsed,) = [one for one in found if one["kind"] == audit.BROWSED]
    assert (browsed["name"], browsed["proof"]) == ("Q", "operator")
    (denied,) = [one for one in found if one["kind"] == audit.NOT_AUTHORIZED]
    assert (denied["name"], denied["missing"], denied["user"]) == ("Q", "get", "ann")
    assert "a body" not in str(found)
