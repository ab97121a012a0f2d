"""SetPermissions and ResetPermissions: what users are told, and what they may then."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
import adapter.testing
from adapter import msmq
from adapter.core.contract.authorities import APPLICABLE, QUEUE, words_of
from adapter.msmq import (
    AccessControlEntryType,
    AccessControlList,
    Host,
    MessageQueueAccessControlEntry,
    MessageQueueAccessRights,
    MessageQueueErrorCode,
    MessageQueueException,
    QueueAccessMode,
    Trustee,
    TrusteeType,
)
from adapter.server.access import credentials
from tests.support.passwords import hash_cheaply

Connect = Callable[[str], Host]
PATH, KEY = r".\private$\orders", r"private$\orders"
EVERYONE = {"everyone": "dsp inq put"}


class Site:
    """A queue manager with users, its operator, and a queue that maker has created."""

    def __init__(self, operator: adapter.Connection, connect: Connect) -> None:
        self.operator = operator
        self.connect = connect
        self.queue = connect("maker").create(PATH)

    def granted(self) -> dict[str, str]:
        """Return what users and groups have by the name of the queue, but its creator."""
        found = self.operator.authorities(KEY, QUEUE).records
        words = {one.entity: " ".join(words_of(one.bits)) for one in found}
        every = " ".join(words_of(APPLICABLE[QUEUE]))
        return {name: has for name, has in words.items() if (name, has) != ("maker", every)}

    def may(self, user: str, access: QueueAccessMode) -> bool:
        """Whether a user may open the queue."""
        try:
            self.connect(user).open(PATH, access=access).close()
        except MessageQueueException as error:
            if error.message_queue_error_code is MessageQueueErrorCode.ACCESS_DENIED:
                return False
            raise
        return True


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    users, socket = tmp_path / "users", tmp_path / "socket"
    names = ("maker", "till", "clerk")
    credentials.write(users, {name: hash_cheaply(name) for name in names})
    hosts: dict[str, Host] = {}
    with (
        adapter.testing.queue_manager(
            "HOME", credentials_file=users, authorities=True, unix_path=socket
        ) as manager,
        adapter.connect(f"unix:{socket}") as operator,
    ):

        def connect(user: str) -> Host:
            if user not in hosts:
                hosts[user] = msmq.connect(manager.address, user=user, password=user)
            return hosts[user]

        operator.set_authority("", "qmgr", users=names, add=["connect"])
        operator.set_authority(r"private$\*", users=["maker"], add=["crt"])
        yield Site(operator, connect)
        for host in hosts.values():
            host.close()


def test_the_creator_gives_and_takes(site: Site) -> None:
    assert site.granted() == EVERYONE
    assert site.may("till", QueueAccessMode.SEND)
    assert not site.may("till", QueueAccessMode.RECEIVE)
    site.queue.set_permissions("till", MessageQueueAccessRights.RECEIVE_MESSAGE)
    assert site.granted() == EVERYONE | {"till": "browse get"}
    assert site.may("till", QueueAccessMode.RECEIVE)
    assert not site.may("clerk", QueueAccessMode.RECEIVE)
    site.queue.set_permissions(
        "till", MessageQueueAccessRights.PEEK_MESSAGE, AccessControlEntryType.SET
    )
    assert site.granted() == EVERYONE | {"till": "browse"}
    site.queue.set_permissions(
        "till", MessageQueueAccessRights.WRITE_MESSAGE, AccessControlEntryType.REVOKE
    )
    assert site.granted() == EVERYONE
    assert not site.may("till", QueueAccessMode.RECEIVE)


def test_a_list_is_set_as_a_whole_and_reset(site: Site) -> None:
    entries = AccessControlList()
    for trustee, rights in (
        (Trustee("Everyone"), MessageQueueAccessRights.GENERIC_WRITE),
        (Trustee("tills", TrusteeType.GROUP), MessageQueueAccessRights.GENERIC_READ),
        (Trustee("clerk"), MessageQueueAccessRights.FULL_CONTROL),
    ):
        entries.append(MessageQueueAccessControlEntry(trustee, rights, AccessControlEntryType.SET))
    site.queue.set_permissions(entries)
    every = " ".join(words_of(APPLICABLE[QUEUE]))
    assert site.granted() == EVERYONE | {"tills": "browse dsp get inq", "clerk": every}
    of_clerk = site.connect("clerk").open(PATH)
    of_clerk.set_permissions(
        MessageQueueAccessControlEntry(
            Trustee("maker"), MessageQueueAccessRights(0), AccessControlEntryType.REVOKE
        )
    )
    with pytest.raises(MessageQueueException, match="ACCESS_DENIED"):
        site.queue.reset_permissions()
    of_clerk.reset_permissions()
    assert site.granted() == EVERYONE
    with pytest.raises(MessageQueueException, match="ACCESS_DENIED"):
        of_clerk.set_permissions("clerk", MessageQueueAccessRights.FULL_CONTROL)
    site.queue.reset_permissions()


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (MessageQueueAccessRights.DELETE_MESSAGE, "get"),
        (MessageQueueAccessRights.PEEK_MESSAGE, "browse"),
        (MessageQueueAccessRights.WRITE_MESSAGE, "put"),
        (MessageQueueAccessRights.SET_QUEUE_PROPERTIES, "chg"),
        (MessageQueueAccessRights.GET_QUEUE_PROPERTIES, "dsp inq"),
        (MessageQueueAccessRights.DELETE_QUEUE, "dlt"),
        (MessageQueueAccessRights.GENERIC_WRITE, "dsp inq put"),
    ],
)
def test_each_right_is_an_authority(
    site: Site, right: MessageQueueAccessRights, words: str
) -> None:
    site.queue.set_permissions(Trustee("till"), right)
    assert site.granted() == EVERYONE | {"till": words}


def test_what_cannot_be_said_is_refused_with_what_to_do(site: Site) -> None:
    receive = MessageQueueAccessRights.RECEIVE_MESSAGE
    for rights, kind, words in (
        (receive, AccessControlEntryType.DENY, "mqk auth explain"),
        (MessageQueueAccessRights.RECEIVE_JOURNAL_MESSAGE, None, "RECEIVE_MESSAGE with it"),
        (MessageQueueAccessRights.CHANGE_QUEUE_PERMISSIONS, None, "give FULL_CONTROL"),
        (receive | MessageQueueAccessRights.TAKE_QUEUE_OWNERSHIP, None, "give FULL_CONTROL"),
    ):
        with pytest.raises(MessageQueueException, match=words) as refused:
            site.queue.set_permissions("till", rights, kind or AccessControlEntryType.ALLOW)
        assert refused.value.message_queue_error_code is MessageQueueErrorCode.UNSUPPORTED_OPERATION
        assert PATH in str(refused.value)
    assert site.granted() == EVERYONE


def test_arguments(site: Site) -> None:
    peek = MessageQueueAccessRights.PEEK_MESSAGE
    entry = MessageQueueAccessControlEntry(Trustee("till"), peek)
    for given in (("till",), ("till", 2), (3, peek), ([entry, "till"],), (entry, peek)):
        with pytest.raises(TypeError):
            site.queue.set_permissions(*given)
    with pytest.raises(TypeError):
        site.queue.set_permissions("till", peek, "allow")  # type: ignore[arg-type]
    for trustee in (Trustee("till", TrusteeType.COMPUTER), Trustee("")):
        with pytest.raises(ValueError):
            site.queue.set_permissions(trustee, peek)
    with pytest.raises(ValueError):
        site.queue.set_permissions("till", MessageQueueAccessRights(0x100))
    site.queue.set_permissions([])
    assert site.granted() == EVERYONE


def test_an_operator_may_too_and_others_may_not(site: Site) -> None:
    site.operator.set_authority("", "qmgr", users=["clerk"], add=["chg"])
    site.operator.set_authority(r"private$\*", users=["clerk"], add=["inq"])
    full = MessageQueueAccessRights.FULL_CONTROL
    site.connect("clerk").open(PATH).set_permissions("clerk", full)
    assert "clerk" in site.granted()
    with pytest.raises(MessageQueueException, match="ACCESS_DENIED"):
        site.connect("till").open(PATH).set_permissions("till", full)
