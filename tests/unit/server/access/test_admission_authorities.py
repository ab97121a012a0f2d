"""Who a client is, where authorities are checked: by what proof, and what is logged."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog.testing

import adapter
from adapter import testing
from adapter.errors import NotAuthorized
from adapter.server.access import credentials
from adapter.testing import TestQueueManager
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def manager(certificates: Authority, tmp_path: Path) -> Iterator[TestQueueManager]:
    users, socket = tmp_path / "users", tmp_path / "socket"
    credentials.write(users, {"ann": hash_cheaply("secret")})
    with testing.queue_manager(
        tls=certificates.server(client_ca=str(certificates.path)),
        credentials_file=users,
        authorities=True,
        unix_path=socket,
    ) as one:
        with adapter.connect(f"unix:{socket}") as operator:  # it needs no password
            operator.define_queue("ORDERS")
            operator.set_role("app-put", "ORDERS", users=["ann", "app"])
        yield one


def test_a_certificate_and_a_password_are_proof(
    manager: TestQueueManager, certificates: Authority
) -> None:
    with adapter.connect(manager.tls_address, tls=certificates.client("app")) as app:
        app.put("ORDERS", "a")
    with pytest.raises(NotAuthorized):
        adapter.connect(manager.tls_address, tls=certificates.client("other"))
    with adapter.connect(manager.address, user="ann", password="secret") as ann:
        ann.put("ORDERS", "a")


def test_a_claim_is_none(manager: TestQueueManager) -> None:
    with manager.connect() as operator:
        mqsc = "ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(OPTIONAL)"
        manager.mqsc(mqsc)
        with pytest.raises(NotAuthorized):
            adapter.connect(manager.address, user="ann")
        operator.set_authority("", "qmgr", groups=["everyone"], add=["connect"])
        with adapter.connect(manager.address, user="ann") as claims:
            with pytest.raises(NotAuthorized, match="no authority for ORDERS"):
                claims.put("ORDERS", "a")
            operator.set_authority("ORDERS", groups=["everyone"], add=["put"])
            claims.put("ORDERS", "a")
        message = operator.get("ORDERS")
        assert message is not None
        assert message.user == "", "it is not the user that it says it is"


def test_reqdadm_asks_also_a_client_that_says_it_is_no_administrator(
    manager: TestQueueManager,
) -> None:
    for user in ("app", "nobody", ""):
        with pytest.raises(NotAuthorized, match="must be given"):
            adapter.connect(manager.address, user=user)
    adapter.connect(manager.address, user="ann", password="secret").close()


def test_the_log_says_what_is_missing_and_the_client_is_not_told(
    manager: TestQueueManager,
) -> None:
    with (
        adapter.connect(manager.address, user="ann", password="secret") as ann,
        structlog.testing.capture_logs() as lines,
    ):
        with pytest.raises(NotAuthorized) as refused:
            ann.get("ORDERS")
        with pytest.raises(NotAuthorized):
            ann.figures()
        with pytest.raises(NotAuthorized):
            ann.stop_queue_manager()
    assert "get" not in str(refused.value)
    told = [one for one in lines if one["event"] == "not authorized"]
    assert [(one["command"], one["object"], one["missing"]) for one in told] == [
        ("Open", "ORDERS", "get"),
        ("AskServer", "QM1", "dsp"),
        ("Stop", "QM1", "ctrl"),
    ]
    assert {(one["user"], one["proof"]) for one in told} == {("ann", "password")}


def test_figures_say_whether_authorities_are_checked(manager: TestQueueManager) -> None:
    with manager.connect() as operator:
        assert operator.figures()["authorities_checked"] is True
    with testing.queue_manager() as other, other.connect() as qm:
        assert qm.figures()["authorities_checked"] is False
