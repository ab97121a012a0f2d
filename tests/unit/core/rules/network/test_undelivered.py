"""Why a queue takes no message, and what goes to the dead-letter queue in its place."""

from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.parked import ParkedQueue
from adapter.core.mq_layouts import dead_letter
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.network import undelivered
from tests.support.core import START_MS, Client, client_on

DURABLE = MessageData(body=b"12", priority=0, persistence=1)


def obstacle(client: Client, name: str = "Q", planned: int = 0) -> int:
    """Why a message is undeliverable, as IBM MQ numbers it; 0 if it is not."""
    qm = client.core.qm
    queue = undelivered.destination(qm, name)
    reason = undelivered.why_undeliverable(qm, queue, DURABLE, planned)
    return code_of(reason) if reason is not None else 0


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, 0),
        ({"inhibit_put": True}, 2051),
        ({"max_message_length": 1}, 2030),
        ({"max_depth": 1}, 2053),
        ({"inhibit_put": True, "max_message_length": 1, "max_depth": 1}, 2051),
    ],
)
def test_why_a_queue_takes_no_message(attributes: dict[str, Any], reason: int) -> None:
    client = client_on("Q")
    client.put("before")
    client.do(c.AlterQueue("Q", attributes))
    assert obstacle(client) == reason


def test_what_is_planned_counts() -> None:
    client = client_on("Q", max_depth=2)
    assert [obstacle(client, planned=planned) for planned in (0, 1, 2)] == [0, 0, 2053]


def test_an_alias_leads_to_its_queue_and_a_name_of_nothing_nowhere() -> None:
    client = client_on("Q")
    client.do(c.DefineObject("alias", "A", {"target": "Q"}))
    assert (obstacle(client, "A"), obstacle(client, "NO.SUCH")) == (0, 2085)


def test_a_queue_whose_topic_cannot_be_written_takes_no_more_than_may_wait() -> None:
    client = client_on("Q", limits=Limits(parked_bytes=10))
    client.core.qm.parked = {"Q": ParkedQueue(0, 10, "no such topic")}
    assert obstacle(client) == 2192


def test_a_header_says_why_it_is_dead_and_what_follows() -> None:
    qm = client_on("Q").core.qm
    message = MessageData(body=b"12", format="MQSTR", ccsid=850, encoding=273)
    buried = undelivered.as_dead_letter(qm, message, "Q", 2053, START_MS)
    header, body = dead_letter.split(buried.format, buried.body)
    assert header is not None
    assert body == b"12"
    assert (header.reason, header.destination, header.destination_queue_manager) == (
        2053,
        "Q",
        qm.name,
    )
    assert (header.format, header.ccsid, header.encoding) == ("MQSTR", 850, 273)
    assert (buried.format, buried.ccsid, buried.encoding) == ("MQDEAD", 1208, 546)
    assert (header.put_date, header.put_time) == dead_letter.stamps(START_MS)
    elsewhere = undelivered.as_dead_letter(qm, message, "Q", 2087, START_MS, "QM9")
    assert dead_letter.from_dlh(elsewhere.body).destination_queue_manager == "QM9"


def test_why_there_is_no_destination() -> None:
    client = client_on("Q")
    client.do(c.DefineObject("alias", "A", {"target": "Q"}))
    qm = client.core.qm
    assert code_of(undelivered.why_no_destination(qm, "A")) == 2085
    client.do(c.AlterObject("alias", "A", {"target_type": "TOPIC"}))
    assert undelivered.destination(qm, "A") is None
    assert code_of(undelivered.why_no_destination(qm, "A")) == 2480
