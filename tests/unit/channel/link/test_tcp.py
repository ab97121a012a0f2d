"""TCP links: whole frames both ways, and how each failure is reported."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from adapter.channel.addresses import Address
from adapter.channel.link.port import Link, LinkLost, LinkTimings
from adapter.channel.link.tcp import TcpDialer, TcpLink
from adapter.wire.frames import Payload


@pytest.fixture
def ends() -> Iterator[tuple[TcpLink, socket.socket]]:
    """A link, and the other end of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        link = TcpDialer(Address(*listening.getsockname())).dial(5.0)
        other, _ = listening.accept()
        with other:
            yield link, other
        link.close()


def test_frames_come_out_whole_however_they_arrive(ends: tuple[TcpLink, socket.socket]) -> None:
    link, other = ends
    other.sendall(b"\0\0\0\3ab")
    assert link.receive() == []
    other.sendall(b"c\0\0\0\1d\0\0")
    assert link.receive() == [b"abc", b"d"]


def test_a_receive_looks_up_without_data(ends: tuple[TcpLink, socket.socket]) -> None:
    link, _ = ends
    link.look_up_every(0.01)
    assert link.receive() is None


def test_the_end_of_a_connection_is_said(ends: tuple[TcpLink, socket.socket]) -> None:
    link, other = ends
    other.close()
    with pytest.raises(LinkLost, match="closed the connection"):
        link.receive()


def test_a_frame_that_is_too_long_is_refused_before_it_is_read(
    ends: tuple[TcpLink, socket.socket],
) -> None:
    link, other = ends
    other.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(LinkLost, match="a frame of 4294967295 bytes"):
        link.receive()


def test_shutdown_from_another_thread_ends_a_receive(ends: tuple[TcpLink, socket.socket]) -> None:
    link, _ = ends
    ended: list[str] = []

    def receive() -> None:
        try:
            while not link.receive():
                pass  # it looked up
        except LinkLost as lost:
            ended.append(str(lost))

    thread = threading.Thread(target=receive)
    thread.start()
    link.shutdown()
    thread.join(5)
    assert len(ended) == 1


def test_a_long_frame_goes_out_whole_while_the_other_end_is_slow(
    ends: tuple[TcpLink, socket.socket],
) -> None:
    link, other = ends
    frame = bytes(range(256)) * 100_000
    got = bytearray()

    def read() -> None:
        while len(got) < len(frame):
            got.extend(other.recv(1 << 20))

    thread = threading.Thread(target=read)
    thread.start()
    link.send(frame)
    thread.join(10)
    assert got == frame


def test_while_the_other_end_takes_nothing_it_is_read_from(
    ends: tuple[TcpLink, socket.socket],
) -> None:
    link, other = ends
    frame = bytes(20_000_000)
    drained = 0

    def other_end() -> None:
        nonlocal drained
        other.sendall(b"\0\0\0\1x")  # it sends first, and reads only when that has been read
        heard.wait(10)
        while drained < len(frame):
            drained += len(other.recv(1 << 20))

    heard = threading.Event()
    payloads: list[Payload] = []

    def hear(_: Link) -> None:
        payloads.extend(link.receive() or [])
        heard.set()

    thread = threading.Thread(target=other_end)
    thread.start()
    link.send(frame, hear)
    thread.join(10)
    assert payloads == [b"x"]
    assert drained == len(frame)


def test_a_peer_that_takes_nothing_for_long_is_lost() -> None:
    impatient = LinkTimings(look_up_s=0.02, stall_s=0.05)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        link = TcpDialer(Address(*listening.getsockname()), impatient).dial(5.0)
        with pytest.raises(LinkLost, match="takes no bytes"):
            link.send(bytes(50_000_000))
        link.close()


def test_nobody_listening_is_told_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = Address(*listening.getsockname())
    began = time.monotonic()
    with pytest.raises(LinkLost, match=str(address)):
        TcpDialer(address).dial(5.0)
    assert time.monotonic() - began < 4


def test_a_host_that_does_not_exist_is_told() -> None:
    with pytest.raises(LinkLost, match="no_such_host"):
        TcpDialer(Address("no_such_host.invalid", 1)).dial(5.0)
