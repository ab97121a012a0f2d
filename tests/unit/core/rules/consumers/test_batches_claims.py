"""Durable consumers: what is claimed when it is read, and which claims count when they are lost."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import BatchDescription, Batches, ConsumerState
from tests.support.batches import (
    TIMEOUT_MS,
    H,
    claim,
    claim_of,
    consumer_on,
    read,
    restarted,
    status,
)


@pytest.mark.parametrize(
    ("programs", "raised"),
    [
        (["reads nothing"], 0),
        (["closes"], 0),
        (["crashes with the queue manager"], 0),
        (["breaks off"], 1),
        (["closes", "closes"], 1),
        (["breaks off", "reads nothing"], 1),
        (["may break off"], 0),
        (["may break off", "may break off"], 1),
        (["breaks off", "crashes with the queue manager"], 1),
        (["breaks off", "closes"], 1),
    ],
)
@pytest.mark.parametrize("is_deleted", [False, True])
def test_only_what_has_failed_counts_as_backed_out(
    programs: list[str], raised: int, is_deleted: bool
) -> None:
    """A batch that was handed out once, to a program that closed its consumer, may well be done."""
    client = consumer_on("a")
    claim(client)
    client.do(c.Close(H))
    for ends in programs:
        client.do(c.OpenConsumer(H, "Q", "C", TIMEOUT_MS, ends == "may break off"))
        if ends != "reads nothing":
            read(client, 0, 1)
        if ends.endswith("break off") or ends == "breaks off":
            client.lose()
        elif ends == "crashes with the queue manager":
            client.core.crash()
        else:
            client.do(c.Close(H))
        if not ends.startswith(("closes", "reads")):
            client = client.core.connect()
    if is_deleted:
        client.do(c.DeleteConsumer("Q", "C"))
    else:
        client.core.advance(TIMEOUT_MS / 1000)
    assert client.core.queue().lanes[0].counts == ({1: raised} if raised else {})


def test_a_batch_is_claimed_when_it_is_read() -> None:
    client = consumer_on("a", "b", "c")
    ident = claim_of(client)
    asked = client.do(c.ClaimBatch(H, 2, only_ask=True))
    assert asked == ConsumerState(ident, 0, 1)
    assert (status(client).last, client.core.queue().depth) == (0, 3), "nothing is claimed"
    for _ in range(2):  # asking again is harmless
        found = client.do(c.ReadBatches(H, ident, 0, 1, 2))
        assert found == Batches(0, [BatchDescription(1, [0, 1, 2], [])])
    assert (status(client).last, status(client).deliveries) == (1, 1)
    assert client.do(c.ClaimBatch(H, 2, only_ask=True)) == ConsumerState(ident, 0, 2)
    ended = client.do(c.ReadBatches(H, ident, 1, 2, 0))
    assert ended == Batches(0, [BatchDescription(2, [], [])]), "with a limit of 0 it is empty"
    assert (status(client).consumed, status(client).messages) == (1, 0)
    assert client.do(c.ReadBatches(H, ident, 2, 3, 5)) == Batches(
        0, [BatchDescription(3, [0, 3, 3], [])]
    )
    assert client.do(c.ReadBatches(H, ident, 3, 4, 5)) == Batches(0, [BatchDescription(4, [], [])])
    assert client.do(c.ClaimBatch(H, 2, only_ask=True)) == ConsumerState(ident, 3, 4)
    restarted(client, with_snapshot=False)
    assert client.core.queue().depth == 0


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.ReadBatches(H, bytes(24), 0, 1, 5), Reason.CLAIM_LOST),
        (c.ReadBatches(H, b"", 0, 2, 5), Reason.BATCH_NOT_FOUND),
        (c.ReadBatches(H, b"", 1, 1, 5), Reason.BATCH_NOT_FOUND),
        (c.ReadBatches(H, b"", 0, 1, 10_001), Reason.OPTIONS_ERROR),
    ],
)
def test_nothing_is_claimed_by_who_must_not_read_it(command: c.ReadBatches, reason: Reason) -> None:
    client = consumer_on("a")
    if not command.claim:
        command = c.ReadBatches(H, claim_of(client), command.after, command.through, command.limit)
    assert client.refused(command) is reason
    assert client.core.queue().depth == 1


def test_nothing_is_claimed_while_the_queue_gives_nothing() -> None:
    client = consumer_on("a")
    client.do(c.AlterQueue("Q", {"inhibit_get": True}))
    wanted = c.ReadBatches(H, claim_of(client), 0, 1, 5)
    assert client.refused(wanted) is Reason.GET_INHIBITED
    client.do(c.AlterQueue("Q", {"inhibit_get": False}))
    client.core.qm.quiescing = True
    assert client.refused(wanted) is Reason.QUEUE_MANAGER_QUIESCING
    client.core.qm.quiescing = False
    assert client.do(wanted) == Batches(0, [BatchDescription(1, [0, 1, 1], [])])
