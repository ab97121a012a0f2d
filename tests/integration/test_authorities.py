"""Authorities of a queue manager on a real Kafka: granted, and the same after a crash."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter import testing
from adapter.errors import NotAuthorized
from adapter.server.access import credentials
from tests.support.shared_kafka import AnyKafka


def test_what_is_granted_outlives_the_queue_manager(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"ann": credentials.hash_password("secret")})
    ann: dict[str, Any] = {"user": "ann", "password": "secret", "reconnect_timeout_s": 0.0}
    settings: dict[str, Any] = {
        "credentials_file": users,
        "authorities": True,
        "snapshot_entries": 5,
    }
    servers = kafka.bootstrap_servers
    with testing.queue_manager(unique_name("QM"), bootstrap_servers=servers, **settings) as one:
        with pytest.raises(NotAuthorized):
            adapter.connect(one.address, **ann)
        with one.connect() as operator:
            operator.define_queue("ORDERS.IN")
            operator.define_queue("ORDERS.SECRET")
            operator.set_role("app-put", "ORDERS.**", users=["ann"])
            operator.set_authority("ORDERS.SECRET", users=["ann"], add=["none"])
            before = operator.authorities().records
        for crashes in (False, True, False):
            with adapter.connect(one.address, **ann) as qm:
                qm.put("ORDERS.IN", "a")
                with pytest.raises(NotAuthorized, match=r"no authority for ORDERS\.SECRET"):
                    qm.put("ORDERS.SECRET", "a")
                with pytest.raises(NotAuthorized, match=r"no authority for ORDERS\.IN"):
                    qm.get("ORDERS.IN")
            if crashes:
                one.crash()
                one.start()
            else:
                one.restart()
        with one.connect() as operator:
            assert operator.authorities().records == before
            assert operator.queue("ORDERS.IN").depth() == 3
