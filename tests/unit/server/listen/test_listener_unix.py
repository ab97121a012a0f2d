"""A queue manager listens at a path too: who may connect there, as whom, and what is left of it."""

import os
import pwd
import socket
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.cli import ending, trigger_monitor
from adapter.connection.wire import codec, frames
from adapter.host import addresses
from adapter.server.access import credentials
from adapter.server.listen.listener import SocketPathError, bind_path
from tests.support.passwords import hash_cheaply


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "QM1.sock"


def test_programs_connect_at_the_path_and_at_the_port(path: Path) -> None:
    with testing.queue_manager(unix_path=path) as manager:
        with adapter.connect(f"unix:{path}") as qm, adapter.connect(manager.address) as other:
            qm.define_queue("Q")
            qm.queue("Q").put(b"x" * 3_000_000)
            message = other.queue("Q").get(timeout=5.0)
            assert message is not None
            assert len(message.body) == 3_000_000
        assert ending.serves(f"unix:{path}")
    assert not ending.serves(f"unix:{path}")


def test_the_system_says_which_process_it_is(path: Path) -> None:
    with testing.queue_manager(unix_path=path), adapter.connect(f"unix:{path}") as qm:
        assert [one.address for one in qm.connections()] == [
            f"unix:pid={os.getpid()},uid={os.getuid()}"
        ]


def test_a_client_is_the_account_at_the_socket_whatever_user_it_names(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = pwd.getpwall()[-1]
    peer = addresses.Peer("unix:pid=1,uid=7", uid=account.pw_uid)
    monkeypatch.setattr(addresses, "peer_of", lambda _transport: peer)
    with (
        testing.queue_manager(unix_path=path),
        adapter.connect(f"unix:{path}", user="mallory") as qm,
    ):
        assert [one.user for one in qm.connections()] == [account.pw_name]


def test_a_client_with_a_path_of_its_own_is_one_of_this_machine(path: Path) -> None:
    with testing.queue_manager(unix_path=path), socket.socket(socket.AF_UNIX) as client:
        client.bind(f"{path}.client")
        client.settimeout(5.0)
        client.connect(str(path))
        client.sendall(codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION)))
        (welcome,) = codec.FrameBuffer().feed(client.recv(65_536))
        assert isinstance(codec.decode_server_frame(welcome), frames.Welcome)


def test_a_credentials_file_asks_there_too(path: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"alice": hash_cheaply("right")})
    with testing.queue_manager(unix_path=path, credentials_file=users):
        with pytest.raises(adapter.NotAuthorized):
            adapter.connect(f"unix:{path}", user="alice", password="wrong")
        adapter.connect(f"unix:{path}", user="alice", password="right").close()


def test_only_its_user_may_connect_unless_more_is_asked_for(path: Path) -> None:
    with testing.queue_manager(unix_path=path):
        assert path.stat().st_mode & 0o777 == 0o600
    bind_path(str(path), 0o660).close()
    assert path.stat().st_mode & 0o777 == 0o660


def test_a_stop_and_a_crash_leave_nothing_and_a_restart_listens_again(path: Path) -> None:
    with testing.queue_manager(unix_path=path) as manager:
        manager.crash()
        assert not path.exists()
        manager.start()
        adapter.connect(f"unix:{path}").close()
        manager.stop()
        assert not path.exists()


def test_what_a_killed_queue_manager_left_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    with testing.queue_manager(unix_path=path):
        adapter.connect(f"unix:{path}").close()


def test_a_path_in_use_is_refused_and_left_as_it_is(path: Path) -> None:
    with testing.queue_manager(unix_path=path):
        with (
            pytest.raises(SocketPathError, match=f"{path} cannot be used to listen: .* in use"),
            testing.queue_manager("QM2", unix_path=path),
        ):
            pass
        adapter.connect(f"unix:{path}").close()


def test_of_two_that_start_at_once_one_is_refused(path: Path) -> None:
    """The first one has its socket, and does not accept yet."""
    with bind_path(str(path), 0o600) as first:
        with pytest.raises(SocketPathError, match="in use"):
            bind_path(str(path), 0o600)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            first.accept()[0].close()


def test_a_path_that_cannot_be_had_is_refused(path: Path) -> None:
    path.write_text("a file")
    with pytest.raises(SocketPathError, match="is not a socket; choose another path with"):
        bind_path(str(path), 0o600)
    assert path.read_text() == "a file"
    with pytest.raises(SocketPathError, match="too long"):
        bind_path(f"{path}{'x' * 200}", 0o600)


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the known sockets of this user."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(addresses, "SOCKETS", tmp_path / "not there")
    return tmp_path / "mqk"


def at_the_socket(qm: adapter.Connection) -> bool:
    (address,) = [one.address for one in qm.connections()]
    return address.startswith("unix:")


def test_programs_that_name_the_port_use_the_known_socket(known: Path) -> None:
    with testing.queue_manager(unix_path="auto") as manager:
        port = manager.address.rpartition(":")[2]
        assert (known / f"{port}.sock").is_socket()
        assert known.stat().st_mode & 0o777 == 0o700
        for address in (manager.address, f"localhost({port})"):
            with adapter.connect(address) as qm:
                assert at_the_socket(qm)
        with adapter.connect(manager.address) as qm:
            manager.restart()
            assert at_the_socket(qm)
        manager.crash()
        assert not list(known.iterdir())
        manager.start()


def test_the_machines_folder_comes_first(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "SOCKETS", tmp_path)
    with (
        testing.queue_manager(unix_path="auto") as manager,
        adapter.connect(manager.address) as qm,
    ):
        assert at_the_socket(qm)
        assert not known.exists()


def test_a_client_that_cannot_use_the_known_socket_uses_the_port(known: Path) -> None:
    with testing.queue_manager() as manager, socket.socket(socket.AF_UNIX) as killed:
        known.mkdir()
        killed.bind(str(known / f"{manager.address.rpartition(':')[2]}.sock"))
        with adapter.connect(manager.address) as qm:
            assert not at_the_socket(qm)


def test_no_known_socket_is_no_reason_not_to_start(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert addresses.socket_to_make("10.0.0.1", 1414) == ""
    assert addresses.known_socket("10.0.0.1", 1414) == ""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "not/a/path")
    assert addresses.socket_to_make("127.0.0.1", 1414) == ""
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with (
        testing.queue_manager(unix_path="auto") as manager,
        adapter.connect(manager.address) as qm,
    ):
        assert not at_the_socket(qm)


def test_a_trigger_monitor_tells_its_programs_the_path(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MQSERVER", raising=False)
    found = trigger_monitor.environment(f"unix:{path},localhost")
    assert found["MQSERVER"] == f"SYSTEM.DEF.SVRCONN/TCP/unix:{path},localhost(1414)"
