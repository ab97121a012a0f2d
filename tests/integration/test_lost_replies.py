"""Replies that are lost with the owner, on a real Kafka: the standby knows what became of them.

All durable verbs, on a ledger in memory, are in tests/unit/server/test_server_lost_replies.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import adapter
from adapter.core.contract import commands as c
from mqk_demo.proxy import HOST, Proxy
from tests.support.asking import Asking
from tests.support.memory_pair import SwallowedReply
from tests.support.shared_kafka import AnyKafka
from tests.support.standby_pair import WAIT_S, Pair

Named = Callable[..., str]
Act = Callable[[adapter.Connection], object]


def commit(qm: adapter.Connection) -> object:
    with qm.unit():
        qm.put("Q", b"c")
    return "committed"


VERBS: list[tuple[type, Act, object, list[bytes]]] = [
    (c.Put, lambda qm: qm.put("Q", b"b"), ..., [b"a", b"b"]),
    (c.Get, lambda qm: getattr(qm.get("Q"), "body", None), b"a", [b"b"]),
    (c.Commit, commit, "committed", [b"b", b"c"]),
]
"""Each verb, what it returns (... for anything), and what is on the queue afterwards, in turn."""


def test_a_reply_that_is_lost_with_the_owner_is_the_standbys(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path
) -> None:
    with Pair(unique_name("QM"), kafka, tmp_path, 5.0) as pair:
        with adapter.connect(pair.addresses) as qm:
            qm.define_queue("Q")
            qm.put("Q", b"a")
        serving, waiting = pair.owner, pair.standby
        for at, (kind, act, returns, left) in enumerate(VERBS):
            if at:
                serving.stand_by()
                serving.start()
                serving, waiting = waiting, serving
            with swallowing(kind, serving.port) as (tap, proxy):
                addresses = f"{proxy.address},{waiting.address}"
                with adapter.connect(addresses, reconnect_timeout_s=WAIT_S) as qm:
                    asking = Asking(partial(act, qm))
                    asking.start()
                    assert tap.swallowed.wait(WAIT_S)
                    serving.kill()
                    assert returns in (..., asking.answer())
                    assert [one.body for one in qm.queue("Q").browse()] == left


@contextmanager
def swallowing(kind: type, port: int) -> Iterator[tuple[SwallowedReply, Proxy]]:
    """Stand before an owner, and swallow the answer of the next command of a kind."""
    tap = SwallowedReply()
    with Proxy(HOST, port, tap=tap) as proxy:
        tap.proxy, tap.kind = proxy, kind
        yield tap, proxy
