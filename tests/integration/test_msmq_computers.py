"""Two servers on one Kafka, each a computer of MSMQ: one reads the queues of the other."""

from collections.abc import Callable
from pathlib import Path

from adapter import msmq
from adapter.msmq import MessageQueueTransaction
from tests.support.backlog import until
from tests.support.msmq_computers import WAIT_S
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka


def test_a_queue_of_the_other_server_is_read_also_after_it_was_killed(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    client, server = unique_name("CLIENT"), unique_name("SERVER")
    servers = kafka.bootstrap_servers
    with (
        ServerProcess(client, servers, tmp_path, network=True) as at_client,
        ServerProcess(server, servers, tmp_path, network=True) as at_server,
    ):
        at_client.start()
        at_server.start()
        with msmq.connect(at_client.address) as host, msmq.connect(at_server.address) as other:
            until(lambda: bool(host.computers.locate(server).address))
            queue = other.create(r".\private$\orders", transactional=True)
            to_server = host.open(rf"{server}\private$\orders")
            with MessageQueueTransaction(host) as transaction:
                for number in range(3):
                    to_server.send(number, label=f"{number}", transaction=transaction)
            assert to_server.receive(WAIT_S).label == "0"
            at_server.kill()
            at_server.start()
            assert [to_server.receive(WAIT_S).label for _ in range(2)] == ["1", "2"]
            assert queue.count() == 0
