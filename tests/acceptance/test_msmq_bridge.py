"""The bridge of examples/msmq-bridge: every message once, whenever it ends."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adapter.msmq import ActiveXMessageFormatter, Message, MessageQueueTransactionType
from tests.support.msmq_site import MsmqSite, msmq_site, path

FILE = Path(__file__).parents[2] / "examples" / "msmq-bridge" / "bridge.py"
SINGLE = MessageQueueTransactionType.SINGLE
THERE = r".\private$\there"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("msmq_bridge", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bridge = loaded()


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    with msmq_site() as site:
        yield site


class Ended(Exception):  # noqa: N818 -- it stands for the end of the process
    """The bridge has ended at this place."""


class StandIn:
    """The COM objects of MSMQ as far as the bridge uses them, with transactional queues."""

    def __init__(self) -> None:
        self.queues: dict[str, list[Any]] = {}
        self.ids = 0

    def dispatch(self, name: str) -> Any:
        kinds: dict[str, Callable[[], Any]] = {
            "MSMQ.MSMQTransactionDispenser": Dispenser,
            "MSMQ.MSMQQueueInfo": lambda: QueueInfo(self),
            "MSMQ.MSMQMessage": lambda: ComMessage(self),
        }
        return kinds[name]()


class Dispenser:
    def BeginTransaction(self) -> "ComTransaction":
        return ComTransaction()


class ComTransaction:
    def __init__(self) -> None:
        self.at_commit: list[Callable[[], None]] = []
        self.at_abort: list[Callable[[], None]] = []

    def Commit(self) -> None:
        for call in self.at_commit:
            call()

    def Abort(self) -> None:
        for call in self.at_abort:
            call()


class QueueInfo:
    PathName = ""

    def __init__(self, com: StandIn) -> None:
        self.com = com

    def Open(self, access: int, deny: int) -> "ComQueue":
        assert access in (1, 2)
        assert deny == 0
        return ComQueue(self.com.queues.setdefault(self.PathName, []), access)


class ComQueue:
    def __init__(self, messages: list[Any], access: int) -> None:
        self.messages, self.access = messages, access

    def Receive(
        self, transaction: ComTransaction, want_queue: bool, want_body: bool, timeout: int
    ) -> Any:
        assert self.access == 1
        assert (want_queue, want_body) == (False, True)
        if not self.messages:
            return None
        found = self.messages.pop(0)
        transaction.at_abort.append(lambda: self.messages.insert(0, found))
        return found


class ComMessage:
    Body: Any = None
    Label = ""
    AppSpecific = 0
    Id: Any = ()

    def __init__(self, com: StandIn) -> None:
        self.com = com

    def Send(self, queue: ComQueue, transaction: ComTransaction) -> None:
        assert queue.access == 2
        self.com.ids += 1
        self.Id = tuple(bytes(12) + self.com.ids.to_bytes(8, "little"))
        transaction.at_commit.append(lambda: queue.messages.append(self))


def there(com: StandIn) -> list[tuple[str, Any, int]]:
    return [(one.Label, one.Body, one.AppSpecific) for one in com.queues.get(THERE, [])]


MESSAGES = [("one", "flour", 1), ("two", b"\x00\xff", 2), ("three", "", 3)]
PLACES = ["", "source.receive", "target.send", "target.commit", "source.commit", "after target"]


def stop_at(place: str, source: Any, target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the bridge end once: before a step, or behind the commit of the target."""

    def end(*_: Any) -> None:
        raise Ended

    if place == "after target":
        commit = target.commit

        def end_behind() -> None:
            commit()
            raise Ended

        monkeypatch.setattr(target, "commit", end_behind)
    elif place:
        side, step = place.split(".")
        monkeypatch.setattr({"source": source, "target": target}[side], step, end)


def run(sides: Callable[[], tuple[Any, Any]], paths: tuple[str, str], place: str) -> int:
    """Run the bridge, end it at a place, and run another one to the end."""
    with pytest.MonkeyPatch.context() as patch:
        source, target = sides()
        stop_at(place, source, target, patch)
        if place:
            with pytest.raises(Ended):
                bridge.move_one(source, paths[0], target, paths[1], 0)
    source, target = sides()
    moved = 0
    while bridge.move_one(source, paths[0], target, paths[1], 0):
        moved += 1
    return moved


@pytest.mark.parametrize("place", PLACES)
def test_finding_msmq_page_6_from_msmq_to_mqk(at: MsmqSite, place: str) -> None:
    queue = at.create(transactional=True)
    at.create("orders-bridge-mark", transactional=True)
    queue.formatter = ActiveXMessageFormatter()
    com = StandIn()
    sender = bridge.ComSide(com.dispatch)
    for label, body, number in MESSAGES:
        sender.begin()
        sender.send(THERE, bridge.Carried(body, label, number=number))
        sender.commit()

    def sides() -> tuple[Any, Any]:
        return bridge.ComSide(com.dispatch), bridge.MqkSide(at.home)

    run(sides, (THERE, path("orders")), place)
    assert [(one.label, one.body, one.app_specific) for one in queue] == MESSAGES
    assert there(com) == []


@pytest.mark.parametrize("place", PLACES)
def test_finding_msmq_page_6_from_mqk_to_msmq(at: MsmqSite, place: str) -> None:
    queue = at.create(transactional=True)
    com = StandIn()
    for label, body, number in MESSAGES:
        message = Message(body, formatter=ActiveXMessageFormatter(), label=label)
        message.app_specific = number
        queue.send(message, transaction=SINGLE)

    def sides() -> tuple[Any, Any]:
        return bridge.MqkSide(at.home), bridge.ComSide(com.dispatch)

    run(sides, (path("orders"), THERE), place)
    assert there(com) == MESSAGES
    assert queue.count() == 0
