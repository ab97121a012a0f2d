"""GRANT, REVOKE and DENY: what users are told, and what they may then."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import adapter
import adapter.testing
from adapter import servicebroker as sb
from adapter.core.contract.authorities import APPLICABLE, QUEUE, SERVICE, words_of
from adapter.server.access import credentials
from tests.support.passwords import hash_cheaply

STORE, KEY = "//parts/Store", "broker$\\partqueue"
Connect = Callable[[str], sb.ServiceBroker]


class Site:
    """A queue manager with users, its operator, and services that maker has created."""

    def __init__(self, operator: adapter.Connection, connect: Connect) -> None:
        self.operator = operator
        self.connect = connect
        self.maker = maker = connect("maker")
        for queue in ("PartQueue", "BenchQueue"):
            maker.create_queue(queue)
        maker.create_service(STORE, "PartQueue", contracts=[sb.DEFAULT])
        maker.create_service("//parts/Bench", "BenchQueue")

    def granted(self, name: str = STORE, object_type: str = SERVICE) -> dict[str, str]:
        """Return what users and groups have by a name, but its creator, who has everything."""
        found = self.operator.authorities(name, object_type).records
        words = {one.entity: " ".join(words_of(one.bits)) for one in found}
        assert words.pop("maker") == " ".join(words_of(APPLICABLE[object_type]))
        return words


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    users, socket = tmp_path / "users", tmp_path / "socket"
    names = ("maker", "bench")
    credentials.write(users, {name: hash_cheaply(name) for name in names})
    sessions: dict[str, sb.ServiceBroker] = {}
    with (
        adapter.testing.queue_manager(
            credentials_file=users, authorities=True, unix_path=socket
        ) as manager,
        adapter.connect(f"unix:{socket}") as operator,
    ):

        def connect(user: str) -> sb.ServiceBroker:
            if user not in sessions:
                sessions[user] = sb.connect(manager.address, user=user, password=user)
            return sessions[user]

        operator.set_authority("", "qmgr", users=names, add=["connect"])
        operator.set_authority("**", QUEUE, users=["maker"], add=["crt"])
        operator.set_authority("**", SERVICE, users=["maker"], add=["crt"])
        yield Site(operator, connect)
        for session in sessions.values():
            session.close()


def denied(call: Callable[[], object]) -> bool:
    """Whether a statement fails as a permission is missing."""
    try:
        call()
    except sb.ServiceBrokerError as error:
        if error.number == 229:
            return True
        raise
    return False


def test_what_is_granted_may_be_done(site: Site) -> None:
    bench = site.connect("bench")

    def begin() -> object:
        return bench.begin_dialog("//parts/Bench", STORE)

    assert denied(begin)
    site.maker.grant("RECEIVE", on_queue="[dbo].[BenchQueue]", to_user="bench")
    assert denied(begin)
    site.maker.grant("send", on_service=f"[{STORE}]", to_user="bench")
    dialog = begin()
    bench.send(dialog, body="x")  # type: ignore[arg-type]
    assert denied(lambda: bench.receive("PartQueue"))
    assert denied(lambda: bench.browse("PartQueue"))
    site.maker.grant(["RECEIVE", "SELECT"], on_queue="partqueue", to_role="public")
    assert len(bench.browse("PartQueue")) == 1
    assert [row.text for row in bench.receive("PartQueue", timeout_ms=10_000)] == ["x"]
    site.maker.revoke("SEND", on_service=STORE, from_user="bench")
    assert denied(begin)
    assert site.granted() == {}


def test_who_may_only_look_at_the_queue_manager_reads_no_body_in_transmission(site: Site) -> None:
    site.maker.alter_queue("PartQueue", status=False)
    for service in (STORE, "//parts/None"):
        site.operator.set_authority(service, SERVICE, users=["maker"], add=["put"])
        site.maker.send(site.maker.begin_dialog("//parts/Bench", service), body="secret")
    site.operator.set_authority("", "qmgr", users=["bench"], add=["dsp"])
    bench = site.connect("bench")

    def shown() -> dict[str, bytes | None]:
        rows = bench.transmission_queue()
        assert {row.message_body_length for row in rows} == {12}
        return {row.to_service_name: row.message_body for row in rows}

    body = "secret".encode("utf-16-le")
    assert shown() == {STORE: None, "//parts/None": None}
    site.maker.grant("SELECT", on_queue="PartQueue", to_user="bench")
    assert shown() == {STORE: body, "//parts/None": None}
    site.maker.revoke("SELECT", on_queue="PartQueue", from_user="bench")
    site.maker.grant("SELECT", on_queue="BenchQueue", to_user="bench")
    assert shown() == {STORE: None, "//parts/None": body}


def test_send_is_enough_for_a_service_at_an_export(site: Site) -> None:
    """As on an alias of MQ; but only who may alter the export leads a service to it, and only who
    may alter the service leads it anywhere.
    """
    site.operator.define_queue("OUT")
    assert denied(partial(site.maker.create_route, "out", service="Out"))
    site.operator.set_authority("Out", SERVICE, users=["maker"], add=["chg"])
    site.operator.define_object("export", "OUT", queue="OUT", topic="t", state="PAUSED")
    address = "EXPORT://OUT"
    assert denied(partial(site.maker.create_route, "out", service="Out", address=address))
    site.maker.create_route("out", service="Out")
    assert denied(partial(site.maker.alter_route, "out", address="export://OUT"))
    site.operator.set_authority("OUT", "export", users=["maker"], add=["chg"])
    site.maker.alter_route("out", address=address)
    site.maker.drop_route("out")
    site.maker.create_route("out", service="Out", address=address)
    bench = site.connect("bench")
    site.maker.grant("RECEIVE", on_queue="BenchQueue", to_user="bench")
    begin = partial(bench.begin_dialog, "//parts/Bench", "Out")
    assert denied(begin)
    site.operator.set_authority("Out", SERVICE, users=["bench"], add=["put"])
    bench.send(begin(), body=b"x")
    assert [one.body for one in site.operator.queue("OUT").browse()] == [b"x"]


def test_each_permission_is_an_authority(site: Site) -> None:
    for permission, words in (
        ("SEND", "put"),
        ("ALTER", "chg"),
        ("View  Definition", "dsp"),
        (("SEND", "alter"), "chg put"),
        ("CONTROL", " ".join(words_of(APPLICABLE[SERVICE]))),
    ):
        site.maker.grant(permission, on_service=STORE, to_user=["bench"], to_role=["clerks"])
        assert site.granted() == {"bench": words, "clerks": words}
        site.maker.revoke("CONTROL", on_service=STORE, from_user="bench", from_role="clerks")
        assert site.granted() == {}
    for permission, words in (
        ("RECEIVE", "get"),
        ("SELECT", "browse"),
        ("VIEW DEFINITION", "dsp inq"),
    ):
        site.maker.grant(permission, on_queue="PartQueue", to_user="bench")
        assert site.granted(KEY, QUEUE) == {"bench": words}
        site.maker.revoke(permission, on_queue="PartQueue", from_user="bench")
    assert site.granted(KEY, QUEUE) == {}


def test_who_has_control_grants_and_no_other(site: Site) -> None:
    bench = site.connect("bench")

    def grant() -> None:
        bench.grant("SEND", on_service=STORE, to_user="eve")

    site.maker.grant(["SEND", "ALTER"], on_service=STORE, to_user="bench")
    assert denied(grant)
    site.maker.grant("CONTROL", on_service=STORE, to_user="bench")
    grant()
    site.maker.revoke("SEND", on_service=STORE, from_user="bench")
    assert denied(grant)
    assert site.granted()["eve"] == "put"


def test_nothing_is_denied(site: Site) -> None:
    with pytest.raises(sb.ServiceBrokerError, match=f"{STORE}.*REVOKE.*mqk auth explain"):
        site.maker.deny("SEND", on_service=STORE, to_user="bench")
    with pytest.raises(sb.InvalidArgument, match="no permission 'RECEIVE': use SEND"):
        site.maker.deny("RECEIVE", on_service=STORE, to_user="bench")


def test_what_is_wrong(site: Site) -> None:
    maker = site.maker
    for given in (
        {"on_service": STORE, "on_queue": "PartQueue", "to_user": "bench"},
        {"to_user": "bench"},
        {"on_service": STORE},
        {"on_service": STORE, "to_user": "x" * 65},
        {"on_service": STORE, "to_user": ""},
    ):
        with pytest.raises(sb.ServiceBrokerError):
            maker.grant("SEND", **given)
    with pytest.raises(sb.InvalidArgument):
        maker.grant([], on_service=STORE, to_user="bench")
    with pytest.raises(sb.InvalidArgumentType):
        maker.grant(3, on_service=STORE, to_user="bench")  # type: ignore[arg-type]
    session = site.connect("maker")
    for name in ("//parts/None", STORE.lower()):
        assert denied(partial(session.grant, "SEND", on_service=name, to_user="b"))
    site.operator.set_authority("", "qmgr", users=["maker"], add=["chg"])
    with pytest.raises(sb.ServiceBrokerError, match="15151"):
        session.grant("SEND", on_service="//parts/None", to_user="bench")
    with pytest.raises(sb.ServiceBrokerError, match="208"):
        session.grant("RECEIVE", on_queue="None", to_user="bench")
    assert site.granted() == {}


def test_public_is_everyone_as_a_role_alone(site: Site) -> None:
    with pytest.raises(sb.ServiceBrokerError, match="public is a role"):
        site.maker.grant("SEND", on_service=STORE, to_user="public")
    site.maker.grant("SEND", on_service=STORE, to_user="Public")
    assert site.granted() == {"Public": "put"}
    site.maker.revoke("SEND", on_service=STORE, from_user="Public")
    site.maker.grant("SEND", on_service=STORE, to_role="Public")
    assert site.granted() == {"everyone": "put"}
