"""The endpoint for monitoring: what it answers, in every state that a server can be in."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession, encode_basic_auth
from msgspec.structs import replace
from structlog.testing import capture_logs

from adapter.core.contract.results import QueueStatus
from adapter.errors import StartError
from adapter.host import addresses
from adapter.host.addresses import Peer
from adapter.localkafka import free_port
from adapter.registry import topic
from adapter.registry.topic import TopicRegistry
from adapter.runtime.owner.figures import OwnerFigures
from adapter.runtime.owner.lifecycle import WHY_NOT, OwnerState
from adapter.server import main
from adapter.server.access import credentials
from adapter.server.access.admission import Admission
from adapter.server.access.audit import AuditTrail
from adapter.server.access.credentials import Credentials
from adapter.server.access.guesses import GuessBounds
from adapter.server.monitor import http, metrics
from adapter.server.monitor.http import DEAD, PAUSE_SHARE, WORDS, Monitor
from adapter.server.monitor.https import HttpUsers
from adapter.server.monitor.metrics import MetricsSnapshot
from adapter.server.monitor.visitors import Visitors
from adapter.server.process.figures import (
    FollowerFigures,
    RoleFigures,
    ServerFigures,
    StandbyFigures,
)
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.settings import ServerSettings
from tests.support.passwords import hash_cheaply

STANDBY = StandbyFigures(
    name="b:1", address="b:1", tls_address="", priority=0, lag_records=0, lag_s=0.0
)


class FakeServer:
    """A server that is as it is told to be."""

    name = "QM1"

    def __init__(self) -> None:
        self.state = OwnerState.RUNNING
        self.role = "owner"
        self.failure = ""
        self.trouble = ""
        self.movers_hold = ""
        self.undone: dict[str, str] = {}
        self.roles = RoleFigures(role="owner")

    def figures(self) -> ServerFigures:
        return ServerFigures(
            queue_manager="QM1",
            connections=3,
            owner=OwnerFigures(state=self.state.value, terms=1, replay_s=0.0),
            log_lines_dropped=0,
            version="1.2.3",
            compiled_modules=39,
            uptime_s=4.5,
            address="127.0.0.1:1414",
            process={"id": 7, "machine": ""},
            kafka="",
            authorities_checked=False,
            mover_restarts=0,
            movers={},
            movers_hold="",
            movers_parked={},
            roles=self.roles,
            undone=self.undone,
        )

    def queue_statuses(self) -> list[QueueStatus]:
        return [QueueStatus("ORDERS", 7, 0, 0, 0, 0, 0, 0, 0.0, [])]


class Page(msgspec.Struct):
    """One answer."""

    status: int
    kind: str
    text: str

    @property
    def said(self) -> Any:
        return msgspec.json.decode(self.text)


Ask = Callable[[str], Awaitable[Page]]


def users_of(admission: Admission) -> HttpUsers:
    """The users of a queue manager that serves no requests, and checks no authorities."""
    return HttpUsers("QM1", admission, Visitors(lambda: None, AuditTrail()))


def asked(
    server: FakeServer,
    *paths: str,
    registry: TopicRegistry | None = None,
    admission: Callable[[], Admission] | None = None,
    login: str = "",
) -> list[Page]:
    """Start an endpoint, and ask for these pages. admission: makes what knows its users; login:
    the password of ann.
    """
    headers = {"Authorization": encode_basic_auth("ann", login)} if login else None

    async def ask() -> list[Page]:
        users = users_of(admission()) if admission is not None else None
        monitor = Monitor(server, registry, users)
        url = await monitor.start(0)
        try:
            async with ClientSession(url, headers=headers) as session:
                return [await get(session, path) for path in paths]
        finally:
            await monitor.stop()

    return asyncio.run(ask())


async def get(session: ClientSession, path: str) -> Page:
    async with session.get(path) as answer:
        return Page(answer.status, answer.headers["Content-Type"], await answer.text())


@pytest.fixture
def from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all clients be of another machine."""
    peer = Peer("10.9.9.1:50000", "10.9.9.1")
    monkeypatch.setattr(addresses, "peer_of", lambda _transport: peer)


def knowing_ann(folder: Path) -> Callable[[], Admission]:
    credentials.write(folder / "users", {"ann": hash_cheaply("right")})
    return lambda: Admission(Credentials(folder / "users"), GuessBounds(pause_s=0.05))


EVERY_PAGE = ("/", "/metrics", "/live", "/ready", "/ready?standby=ok", "/role", "/other")
NAMES = ("QM1", "ORDERS", "deep trouble", "host of a standby")


@pytest.mark.usefixtures("from_elsewhere")
@pytest.mark.parametrize("trouble", ["", "deep trouble"])
def test_another_machine_hears_a_word_without_a_login(trouble: str, tmp_path: Path) -> None:
    server = FakeServer()
    server.trouble = trouble
    server.roles = RoleFigures(role="owner", standbys={"host of a standby": STANDBY})
    for admission in (None, knowing_ann(tmp_path)):
        pages = asked(server, *EVERY_PAGE, admission=admission)
        statuses = dict(zip(EVERY_PAGE, (page.status for page in pages), strict=True))
        ready = 503 if trouble else 200
        probes = {"/live": 200, "/ready": ready, "/ready?standby=ok": ready}
        assert statuses == dict.fromkeys(EVERY_PAGE, 401) | probes
        told = "".join(page.text for page in pages)
        assert [name for name in NAMES if name in told] == []
        assert [page.text for page in pages if page.status in WORDS] == [
            WORDS[status] for status in probes.values()
        ]


@pytest.mark.usefixtures("from_elsewhere")
def test_another_machine_sees_all_with_a_login(tmp_path: Path) -> None:
    admission = knowing_ann(tmp_path)
    pages = asked(FakeServer(), *EVERY_PAGE, admission=admission, login="right")
    assert [page.status for page in pages] == [200] * 6 + [404]
    assert pages[3].said["queue_manager"] == "QM1"
    assert "ORDERS" in pages[1].text
    pages = asked(FakeServer(), *EVERY_PAGE, admission=admission, login="wrong")
    assert {page.status for page in pages} <= {401, 429}


def test_pages_that_nobody_can_log_in_to_are_named_in_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(addresses, "reaches_only_this_machine", lambda _: False)
    with capture_logs() as lines:
        for admission in (Admission, knowing_ann(tmp_path)):
            asked(FakeServer(), "/live", admission=admission)
    (line,) = lines
    assert line["event"] == "monitored by this machine only"
    assert "set credentials_file" in line["reason"]


class LoopWithAClock(asyncio.SelectorEventLoop):
    """later_s: how far its clock is ahead."""

    later_s = 0.0

    def time(self) -> float:
        return super().time() + self.later_s


def test_figures_are_written_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask, it takes a tenth of the time."""
    written, whole, took_s = [], metrics.text, 1.0

    def text(snapshot: MetricsSnapshot) -> bytes:
        written.append(threading.get_ident())
        loop.later_s += took_s
        return whole(snapshot)

    monkeypatch.setattr(metrics, "text", text)

    async def ask() -> None:
        monitor = Monitor(FakeServer())
        url = await monitor.start(0)
        try:
            async with ClientSession(url) as session:
                for _ in range(3):
                    pages = [get(session, "/metrics") for _ in range(20)]
                    assert {one.status for one in await asyncio.gather(*pages)} == {200}
                assert len(written) == 1
                loop.later_s += took_s * (PAUSE_SHARE + 2)
                await get(session, "/metrics")
        finally:
            await monitor.stop()

    loop = LoopWithAClock()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(ask())
    assert len(written) == 2


def test_who_hears_a_word_costs_no_figures(
    monkeypatch: pytest.MonkeyPatch, from_elsewhere: None
) -> None:
    del from_elsewhere
    monkeypatch.setattr(FakeServer, "figures", None)
    pages = asked(
        FakeServer(), "/live", "/ready", "/ready?x", "/ready?standby=ok", "/ready?standby="
    )
    assert [page.status for page in pages] == [200] * 5


@pytest.mark.usefixtures("from_elsewhere")
def test_nobody_logs_in_where_no_users_are(tmp_path: Path) -> None:
    for page in asked(FakeServer(), "/metrics", "/ready", admission=Admission, login="right"):
        assert page.status == 401


def test_the_role_of_a_process_is_told_in_every_state() -> None:
    server = FakeServer()
    for role in ("owner", "standby"):
        server.role = role
        (page,) = asked(server, "/role")
        assert (page.status, page.kind) == (200, "application/json")
        assert page.said == {"queue_manager": "QM1", "role": role}


def test_one_that_runs_is_live_and_ready() -> None:
    for page in asked(FakeServer(), "/live", "/ready"):
        assert (page.status, page.kind) == (200, "application/json")
        told = {"queue_manager": "QM1", "state": "running", "ok": True, "reason": ""}
        assert page.said in (told, told | {"standbys": [], "undone": {}})


def test_one_is_ready_that_leaves_something_undone_and_says_what() -> None:
    server = FakeServer()
    server.undone = {"a snapshot was not written": "the disk is full"}
    (page,) = asked(server, "/ready")
    assert page.status == 200
    assert page.said["undone"] == {"a snapshot was not written": "the disk is full"}


@pytest.mark.parametrize(
    "state", sorted(set(OwnerState) - {OwnerState.RUNNING}, key=str), ids=lambda state: state.value
)
def test_every_other_state_has_its_answer(state: OwnerState) -> None:
    server = FakeServer()
    server.state = state
    live, ready = asked(server, "/live", "/ready")
    assert live.status == (503 if state in DEAD else 200)
    assert ready.status == 503
    why = WHY_NOT.get(state, f"the queue manager is {state.value}")
    assert ready.said == {
        "queue_manager": "QM1", "state": state.value, "ok": False, "reason": why, "standbys": [],
        "undone": {},
    }  # fmt: skip


def test_the_owners_own_words_say_more() -> None:
    server = FakeServer()
    server.state, server.failure = OwnerState.DEPOSED, "another owner took over at offset 9"
    for page in asked(server, "/live", "/ready"):
        assert page.status == 503
        assert page.said["reason"] == server.failure


@pytest.mark.parametrize("state", [OwnerState.RUNNING, OwnerState.TAKING_OVER, OwnerState.DOUBTFUL])
def test_a_kafka_that_is_away_makes_it_not_ready(state: OwnerState) -> None:
    server = FakeServer()
    server.state, server.trouble = state, "Kafka has acknowledged no writes for 12 s"
    server.movers_hold = "that too"
    live, ready = asked(server, "/live", "/ready")
    assert live.status == 200
    assert (ready.status, ready.said["reason"]) == (503, server.trouble)


def test_movers_that_hold_make_it_not_ready() -> None:
    server = FakeServer()
    server.movers_hold = "mq.QM1.q.ORDERS: topic authorization failed"
    live, ready = asked(server, "/live", "/ready")
    assert live.status == 200
    assert (ready.status, ready.said["reason"]) == (503, server.movers_hold)


def test_metrics() -> None:
    (page,) = asked(FakeServer(), "/metrics")
    assert page.status == 200
    assert page.kind == "text/plain; version=0.0.4; charset=utf-8"
    assert 'mqk_queue_depth{queue="ORDERS"} 7.0\n' in page.text
    assert "mqk_connections 3.0\n" in page.text


def test_another_page_names_those_that_there_are() -> None:
    (page,) = asked(FakeServer(), "/nowhere")
    assert page.status == 404
    assert "the pages are /metrics, /live, /ready" in page.text


def test_finding_users_24_the_first_page_links_to_the_others() -> None:
    (page,) = asked(FakeServer(), "/")
    assert (page.status, page.kind.split(";")[0]) == (200, "text/html")
    linked = re.findall(r'href="([^"]+)"', page.text)
    assert linked == ["/metrics", "/live", "/ready", "/role"]
    assert {one.status for one in asked(FakeServer(), *linked)} == {200}


def test_it_is_on_loopback_and_a_taken_port_is_an_error() -> None:
    async def twice() -> str:
        first, second = Monitor(FakeServer()), Monitor(FakeServer())
        url = await first.start(0)
        port = int(url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            await second.start(port)
        await first.stop()
        await first.stop()
        again = await second.start(port)
        await second.stop()
        return again

    assert asyncio.run(twice()).startswith(f"http://{http.HOST}:")
    assert http.HOST == "127.0.0.1"


def test_the_registrys_api_lies_below_its_own_path() -> None:
    registry = topic.in_memory()
    registry.register("s", '"int"')
    paths = "/registry/subjects", "/registry/nothing", "/registry/", "/live", "/subjects"
    subjects, nothing, greeted, live, outside = asked(FakeServer(), *paths, registry=registry)
    assert (subjects.status, subjects.said) == (200, ["s"])
    assert (nothing.status, nothing.said["error_code"]) == (404, 404)
    assert (greeted.status, live.status, outside.status) == (200, 200, 404)
    assert asked(FakeServer(), paths[0])[0].status == 404


def test_the_registry_is_not_served_where_other_machines_may_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(addresses, "reaches_only_this_machine", lambda _: False)
    registry = topic.in_memory()

    async def ask() -> list[Page]:
        monitor = Monitor(FakeServer(), registry)
        url = await monitor.start(0, "127.0.0.1")
        port = url.rpartition(":")[2]
        try:
            async with ClientSession(f"http://127.0.0.1:{port}") as session:
                return [await get(session, path) for path in ("/live", "/registry/subjects")]
        finally:
            await monitor.stop()

    live, subjects = asyncio.run(ask())
    assert (live.status, subjects.status) == (200, 404)


def test_the_registry_may_have_an_address_of_its_own() -> None:
    registry = topic.in_memory()
    registry.register("s", '"int"')
    port = free_port()

    def settings(host: str) -> ServerSettings:
        kafka = KafkaSettings(bootstrap_servers="k:1")
        return ServerSettings(
            queue_manager="QM1", kafka=kafka, registry_host=host, registry_port=port
        )

    async def ask() -> Page:
        users = users_of(Admission())
        async with AsyncExitStack() as ends:
            await main.serve_registry(settings("127.0.0.1"), registry, ends, users)
            async with ClientSession(f"http://127.0.0.1:{port}") as session:
                page = await get(session, "/subjects")
            with pytest.raises(StartError, match=f"127.0.0.1:{port} .* --registry-listen"):
                await main.serve_registry(settings("127.0.0.1"), registry, ends, users)
            with pytest.raises(StartError, match="is reachable from other machines"):
                await main.serve_registry(settings("0.0.0.0"), registry, ends, users)
            return page

    page = asyncio.run(ask())
    assert (page.status, page.said) == (200, ["s"])


def followed(lag_records: int, *, linked: bool = True) -> FakeServer:
    server = FakeServer()
    server.state, server.role = OwnerState.FOLLOWING, "standby"
    figures = FollowerFigures(owner="QM1", linked=linked, lag_records=lag_records, lag_s=0.5)
    server.roles = RoleFigures(role="standby", follower=figures)
    return server


def test_an_owner_is_ready_with_its_standbys_named() -> None:
    server = FakeServer()
    one = replace(STANDBY, lag_records=3, lag_s=0.1)
    server.roles = RoleFigures(role="owner", standbys={"b:1": one})
    for page in asked(server, "/ready", "/ready?standby=ok"):
        assert page.status == 200
        told = msgspec.json.decode(page.text)["standbys"]
        assert told == [{"name": "b:1", "linked": True, "lag_records": 3, "lag_s": 0.1}]


@pytest.mark.parametrize(
    ("lag_records", "status"),
    [(0, 200), (http.FOLLOWS_WITHIN, 200), (http.FOLLOWS_WITHIN + 1, 503)],
)
def test_a_standby_is_ready_for_who_asks_for_one_that_follows(
    lag_records: int, status: int
) -> None:
    server = followed(lag_records, linked=False)
    plain, asked_for = asked(server, "/ready", "/ready?standby=ok")
    assert (plain.status, asked_for.status) == (503, status)
    for page in (plain, asked_for):
        (told,) = msgspec.json.decode(page.text)["standbys"]
        assert (told["linked"], told["lag_records"]) == (False, lag_records)


def test_a_standby_that_follows_no_owner_yet_is_not_ready() -> None:
    server = followed(0)
    server.roles = RoleFigures(role="standby")
    (page,) = asked(server, "/ready?standby=ok")
    assert page.status == 503
    assert "not begun to follow" in page.text


def test_a_question_that_is_none_is_refused() -> None:
    (page,) = asked(FakeServer(), "/ready?standby=maybe")
    assert page.status == 400
    assert "use standby=ok" in page.text
