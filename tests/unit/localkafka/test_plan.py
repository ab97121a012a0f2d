"""Planning a cluster: ports and folders, and what is refused before anything starts."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adapter.localkafka import LocalKafkaError
from adapter.localkafka.plan import plan_cluster, require_startable
from adapter.localkafka.ports import HOST, free_port


def test_random_ports_differ(tmp_path: Path) -> None:
    plans = plan_cluster(tmp_path, 3, None, {2: 7000})
    ports = [port for one in plans for port in (one.port, one.controller_port, one.proxied_port)]
    used = [port for port in ports if port is not None]
    assert len(used) == len(set(used)) == 7
    assert [one.number for one in plans] == [1, 2, 3]
    assert [one.proxy_port for one in plans] == [None, 7000, None]


def test_a_given_port_is_counted_up(tmp_path: Path) -> None:
    assert [one.port for one in plan_cluster(tmp_path, 3, 9092, {})] == [9092, 9093, 9094]


@pytest.mark.parametrize("brokers", [0, 2, 4, -1])
def test_only_one_or_three_brokers(tmp_path: Path, brokers: int) -> None:
    with pytest.raises(LocalKafkaError, match=f"1 or 3 brokers, not {brokers}"):
        plan_cluster(tmp_path, brokers, None, {})


def test_a_proxy_for_a_broker_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LocalKafkaError, match=r"brokers \[2\]"):
        plan_cluster(tmp_path, 1, None, {2: 7000})


def test_a_folder_of_another_size_is_refused(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"broker-{number}").mkdir()
    with pytest.raises(LocalKafkaError, match=r"data of 3 broker\(s\), not of 1"):
        plan_cluster(tmp_path, 1, None, {})
    assert len(plan_cluster(tmp_path, 3, None, {})) == 3


def test_a_comma_in_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalKafkaError, match="no comma"):
        plan_cluster(tmp_path / "a,b", 1, None, {})


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as server:
        plans = plan_cluster(tmp_path, 1, server.getsockname()[1], {})
        with pytest.raises(LocalKafkaError, match="is taken"):
            require_startable(plans)


HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "r+b")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_folder_in_use_is_refused_until_it_is_let_go(tmp_path: Path) -> None:
    plans = plan_cluster(tmp_path, 1, free_port(), {})
    require_startable(plans)
    plans[0].data.mkdir(parents=True)
    lock = plans[0].data / ".lock"
    lock.touch()
    require_startable(plans)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LocalKafkaError, match="another Kafka is running"):
            require_startable(plans)
        holder.communicate()
    require_startable(plans)
