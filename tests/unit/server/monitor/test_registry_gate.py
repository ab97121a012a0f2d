"""Who may read and change the registry over HTTP: every route with every right, on record."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, encode_basic_auth
from msgspec import convert, json

from adapter.core.attributes.objects import AuthInfoAttributes
from adapter.core.contract import authorities as a
from adapter.core.contract.audit import COMMAND, NOT_AUTHORIZED, AuditNote
from adapter.core.contract.authorities import AuthorityRecord
from adapter.core.contract.channel_rules import ChannelRule
from adapter.core.model.manager import QueueManager
from adapter.host.web import HttpListener
from adapter.registry import http as registry_api
from adapter.registry import topic
from adapter.registry.api import ROUTES, Route
from adapter.runtime.owner.inquiries import Inquiries
from adapter.server.access import credentials
from adapter.server.access.admission import Admission
from adapter.server.access.audit import AuditTrail
from adapter.server.access.credentials import Credentials
from adapter.server.access.guesses import GuessBounds
from adapter.server.monitor.https import HttpUsers
from adapter.server.monitor.registry_gate import RegistryGate
from adapter.server.monitor.visitors import Visitors
from tests.support.passwords import hash_cheaply

WITHIN_S = 60.0
ANN = {"Authorization": encode_basic_auth("ann", "right")}
JSON = {"Content-Type": "application/json"}
BODIES = {
    "/config": {"compatibility": "NONE"},
    "/mode": {"mode": "READONLY"},
    "/subjects": {"schema": '"long"'},
    "/compatibility": {"schema": '"long"'},
}


class Site:
    """A registry behind a gate, and the queue manager that says who may do what."""

    def __init__(self, folder: Path, *, authorities: bool = True, has_users: bool = True) -> None:
        self.qm: QueueManager | None = QueueManager("QM1", b"owner")
        self.qm.authorities.are_checked = authorities
        self.qm.attributes.channel_rules = "ENABLED"
        self.demand("OPTIONAL")
        self.notes: list[AuditNote] = []
        self.audit = AuditTrail(is_on=True)
        self.audit.write(self.notes.extend)
        self.registry = topic.in_memory()
        self.registry.register("orders", '"int"')
        users = None
        if has_users:
            credentials.write(folder / "users", {"ann": hash_cheaply("right")})
            users = Credentials(folder / "users")
        self.admission = Admission(users, GuessBounds(pause_s=0.01))
        visitors = Visitors(self._inquiries, self.audit, checks_authorities=authorities)
        self.gate = RegistryGate(HttpUsers("QM1", self.admission, visitors))
        self.session: ClientSession | None = None

    def _inquiries(self) -> Inquiries | None:
        return None if self.qm is None else Inquiries(self.qm)

    def demand(self, check: str) -> None:
        """CHCKCLNT of the object that CONNAUTH names."""
        assert self.qm is not None
        self.qm.attributes.connection_auth = "USERS"
        self.qm.objects["authinfo", "USERS"] = convert({"check_client": check}, AuthInfoAttributes)

    def grant(self, profile: str, bits: int, user: str = "ann") -> None:
        assert self.qm is not None
        record = AuthorityRecord(profile, a.REGISTRY, user or a.EVERYONE, not user, bits)
        self.qm.authorities.set(record)

    async def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        body = next((one for start, one in BODIES.items() if path.startswith(start)), None)
        assert self.session is not None
        sent = None if method in ("GET", "DELETE") else json.encode(body)
        asked = self.session.request(method, path, data=sent, headers=(headers or {}) | JSON)
        async with asked as answer:
            return answer.status, await answer.json(content_type=None)

    async def of_record(self) -> list[AuditNote]:
        await asyncio.sleep(0)  # notes are written in the next turn
        found, self.notes[:] = list(self.notes), []
        return found


def run(site: Site, test: Callable[[], Awaitable[None]]) -> None:
    async def work() -> None:
        listener = HttpListener(registry_api.application(site.registry, site.gate))
        url = await listener.start("127.0.0.1", 0)
        try:
            async with ClientSession(url) as site.session:
                await asyncio.wait_for(test(), WITHIN_S)
        finally:
            await listener.stop()
            site.admission.close()

    asyncio.run(work())


def path_of(route: Route) -> str:
    return route.path.format(subject="orders", version="1", id="1")


def needed(route: Route) -> tuple[str, int]:
    """Profile and authority that a route needs."""
    return "orders" if "{subject}" in route.path else a.SELF, (
        a.CHANGE if route.changes else a.DISPLAY
    )


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method}{one.path}")
def test_each_route_needs_its_right_on_its_object(route: Route, tmp_path: Path) -> None:
    async def test() -> None:
        profile, bits = needed(route)
        for granted, right in product(("orders", a.SELF), (0, a.DISPLAY, a.CHANGE)):
            site.grant("orders", 0)
            site.grant(a.SELF, 0)
            site.grant(granted, right)
            status, said = await site.ask(route.method, path_of(route), ANN)
            if (granted, right) != (profile, bits):
                assert (status, said["error_code"]) == (403, 40301)
                assert "mqk auth grant --type registry" in said["message"]
                (note,) = await site.of_record()
                assert (note.kind, note.name) == (NOT_AUTHORIZED, profile)
                assert note.details["missing"] == ("chg" if route.changes else "dsp")
                assert note.details["user"] == "ann"
                assert note.details["command"] == f"registry {route.method} {route.path}"
            else:
                assert status != 403
                assert [one.kind for one in await site.of_record()] == [COMMAND] * route.changes

    site = Site(tmp_path)
    run(site, test)


def test_what_changes_is_said_of_the_routes() -> None:
    """Of POST some only ask."""
    posts = [one.path for one in ROUTES if one.method == "POST" and one.changes]
    assert posts == ["/subjects/{subject}/versions"]
    assert all(one.changes == (one.method != "GET") for one in ROUTES if one.method != "POST")


def test_a_change_is_on_record_with_its_outcome(tmp_path: Path) -> None:
    async def test() -> None:
        site.grant("**", a.CHANGE | a.DISPLAY)
        assert (await site.ask("PUT", "/config", ANN))[0] == 200
        assert (await site.ask("DELETE", "/subjects/nothing", ANN))[0] == 404
        done, refused = await site.of_record()
        assert (done.name, done.details["outcome"]) == (a.SELF, "done")
        assert done.details["answer"] == '{"compatibility":"NONE"}'
        assert (done.details["user"], done.details["proof"]) == ("ann", "password")
        assert (refused.name, refused.details["outcome"]) == ("nothing", "refused")
        assert "not found" in refused.details["reason"]

    site = Site(tmp_path)
    run(site, test)


def test_who_shows_nothing_has_what_everyone_has(tmp_path: Path) -> None:
    async def test() -> None:
        status, said = await site.ask("GET", "/subjects")
        assert (status, said["error_code"]) == (401, 401)
        assert "The client has shown no user" in said["message"]
        site.grant(a.SELF, a.DISPLAY, user="")
        assert await site.ask("GET", "/subjects") == (200, ["orders"])
        assert (await site.ask("PUT", "/mode"))[0] == 401
        assert (await site.ask("PUT", "/mode", ANN))[0] == 403

    site = Site(tmp_path)
    run(site, test)


def test_where_nobody_can_log_in_nobody_is_asked_to(tmp_path: Path) -> None:
    async def test() -> None:
        assert (await site.ask("GET", "/subjects"))[0] == 403

    site = Site(tmp_path, has_users=False)
    run(site, test)


def test_without_authorities_everybody_here_may_and_is_on_record(tmp_path: Path) -> None:
    async def test() -> None:
        assert (await site.ask("PUT", "/config"))[0] == 200
        wrong = {"Authorization": encode_basic_auth("ann", "wrong")}
        assert (await site.ask("PUT", "/config", wrong))[0] == 401, "one that is given counts"
        assert (await site.ask("PUT", "/config", ANN))[0] == 200
        found = [one for one in await site.of_record() if one.kind == COMMAND]
        assert [one.details.get("user", "") for one in found] == ["", "ann"]

    site = Site(tmp_path, authorities=False)
    run(site, test)


@pytest.mark.parametrize("check", ["REQUIRED", "REQDADM"])
def test_a_password_is_demanded_as_of_clients(check: str, tmp_path: Path) -> None:
    async def test() -> None:
        assert (await site.ask("GET", "/subjects"))[0] == 401
        assert (await site.ask("GET", "/subjects", ANN))[0] == 200

    site = Site(tmp_path, authorities=False)
    site.demand(check)
    run(site, test)


@pytest.mark.parametrize("authorities", [False, True])
def test_while_nothing_is_served_nothing_is_allowed_that_could_be_refused(
    authorities: bool, tmp_path: Path
) -> None:
    async def test() -> None:
        site.qm = None
        assert (await site.ask("GET", "/subjects"))[0] == 503
        assert (await site.ask("GET", "/subjects", ANN))[0] == (503 if authorities else 200)

    site = Site(tmp_path, authorities=authorities)
    run(site, test)


@pytest.mark.parametrize(
    "rule",
    [
        ChannelRule("*", "BLOCKADDR", addresses=["127.*"]),
        ChannelRule("SYSTEM.DEF.*", "BLOCKUSER", users=["ann"]),
        ChannelRule("*", "ADDRESSMAP", address="127.0.0.1", source="NOACCESS"),
    ],
    ids=lambda one: one.kind,
)
def test_channel_rules_count(rule: ChannelRule, tmp_path: Path) -> None:
    async def test() -> None:
        site.grant("**", a.CHANGE | a.DISPLAY)
        assert (await site.ask("GET", "/subjects", ANN))[0] == 200
        assert site.qm is not None
        site.qm.channel_rules.set(rule)
        assert (await site.ask("GET", "/subjects", ANN))[0] == 403
        (note,) = await site.of_record()
        assert note.details["object_type"] == "channel rule"

    site = Site(tmp_path)
    run(site, test)


def test_a_channel_rule_may_say_who_a_client_is(tmp_path: Path) -> None:
    async def test() -> None:
        assert site.qm is not None
        site.qm.channel_rules.set(
            ChannelRule("*", "ADDRESSMAP", address="*", source="MAP", mca_user="reader")
        )
        site.grant(a.SELF, a.DISPLAY, user="reader")
        assert (await site.ask("GET", "/subjects"))[0] == 200

    site = Site(tmp_path)
    run(site, test)
