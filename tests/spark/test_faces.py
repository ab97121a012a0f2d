"""Queues of MSMQ and Service Broker, and delayed messages, as both sources show them."""

from pathlib import Path
from typing import Any

from adapter.msmq import MessageQueueTransaction
from adapter.servicebroker import DEFAULT
from adapter.storage.format import names
from spark_jobs import transforms
from tests.spark.test_datasource import as_told, browse
from tests.support.spark_site import Site, collecting, drain, queues, wait_copied

MSMQ, BROKER, PLAIN = "private$\\orders", "broker$\\asked", "LATER"


def read(site: Site, queue: str, count: int, folder: Path) -> list[Any]:
    """Rows of a queue in their order, which both sources show alike."""
    wait_copied(site.servers, names.queue_topic(site.name, queue), count)
    rows: list[Any] = []
    drain(browse(site, queue), collecting(rows), folder / "browsed")
    found = sorted((row for _, row in rows), key=lambda row: (row["partition"], row["seq"]))
    kafka = site.batch(queue)
    assert sorted(map(as_told, found)) == sorted(map(as_told, kafka.collect()))
    assert [field[1] for field in kafka.dtypes[-3:]] == [
        field[1] for field in browse(site, queue).dtypes[-3:]
    ]
    whole: list[Any] = []
    drain(transforms.complete_units(site.stream(queue)), collecting(whole), folder / "whole")
    assert sorted(as_told(row) for _, row in whole) == sorted(map(as_told, found))
    return found


def test_finding_spark_n3_what_other_faces_say_is_in_the_columns(
    site: Site, tmp_path: Path
) -> None:
    with site.manager.connect_msmq() as host:
        orders = host.create(r".\private$\Orders", transactional=True)
        with MessageQueueTransaction(host) as transaction:
            for number in range(2):
                orders.send(f"order {number}", label=f"label {number}", transaction=transaction)
    with site.manager.connect_servicebroker() as broker:
        for queue, service in (("Asking", "asking"), ("Asked", "asked")):
            broker.create_queue(queue)
            broker.create_service(service, queue, contracts=[DEFAULT])
        with broker.transaction() as t:
            dialog = t.begin_dialog("asking", "asked")
            for number in range(2):
                t.send(dialog, body=f"question {number}")
    with queues(site, PLAIN) as qm:
        qm.put(PLAIN, "now")
        put = qm.put(PLAIN, "later", deliver_after=0.05)
        sent = read(site, MSMQ, 2, tmp_path / "msmq")
        assert [row["msmq"]["label"] for row in sent] == ["label 0", "label 1"]
        assert [row["msmq"]["transactional"] for row in sent] == [True, True]
        assert {row["broker"] for row in sent} == {None}
        asked = read(site, BROKER, 2, tmp_path / "broker")
        assert [row["broker"]["sequence"] for row in asked] == [0, 1]
        assert {row["broker"]["service"] for row in asked} == {"asked"}
        assert {row["broker"]["message_type"] for row in asked} == {DEFAULT}
        assert {len(row["broker"]["conversation"]) for row in asked} == {16}
        assert {row["msmq"] for row in asked} == {None}
        now, later = read(site, PLAIN, 2, tmp_path / "plain")
        assert (now["deliver_at"], now["msmq"], now["broker"]) == (None, None, None)
        assert later["deliver_at"].timestamp() * 1000 > put.put_time_ms
