"""Machines of a network, on this one: processes with a network of their own, which can be cut off.

Theory. A process that is cut off is there, and goes on; what it sends is lost without a word, and
nothing arrives. No signal makes that of a process, and closing its connections does not either:
the other ends would hear of it. So each machine is a network namespace of Linux, joined to a bridge
by a pair of virtual interfaces; the end on the bridge is taken off it to cut the machine off.

Servers listen on loopback addresses here, and a namespace has a loopback of its own. So machine N
is 127.0.0.N by routes: the system looks first at its table of local addresses, to which all of
127.0.0.0/8 belongs; here that table comes after one that has the machines. All this would change
the network of the system, so the process that makes machines, and what it starts, is in a namespace
of its own (alone()). This needs root, and the commands `unshare` and `ip`. This module knows no
queue manager.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ALONE = ("unshare", "--net", "--mount")
HERE = "127.0.0.1"
LOOPBACK = "127.0.0.0/8"
SWITCH = "127.0.0.254"
SWITCH_ADDRESS = "02:00:00:00:00:01"
"""Not that of an interface on it, as would be by itself: off the bridge, one must take no frame."""
FIRST = 2
TABLE = "77"
NAMES = Path("/run/netns")
"""Where `ip` keeps the names of namespaces."""
ROUTED = "/proc/sys/net/ipv4/conf/all/route_localnet"
"""Whether addresses of the loopback may go over another interface."""


class MachinesError(Exception):
    """What makes machines is missing."""


def alone(command: Sequence[str]) -> list[str]:
    """Return what runs a command in a network of its own, in which it may make machines.

    Raises MachinesError where that is not possible.
    """
    missing = [one for one in ("unshare", "ip") if shutil.which(one) is None]
    if missing:
        raise MachinesError(
            f"cutting a machine off needs the command {missing[0]}: install iproute2"
        )
    if os.geteuid() != 0:
        raise MachinesError("cutting a machine off needs root: a network of its own is made for it")
    _run(*ALONE, "true")
    return [*ALONE, *command]


class Machines:
    """The machines of the network that this process is alone in."""

    def __init__(self, count: int) -> None:
        if _ip("link show up"):
            raise MachinesError("machines are made in a network that nothing uses: see alone()")
        self.hosts = [f"127.0.0.{number}" for number in range(FIRST, FIRST + count)]
        NAMES.mkdir(exist_ok=True)
        _run("mount", "-t", "tmpfs", "none", str(NAMES))
        _ip("link set lo up")
        _ip(f"link add switch address {SWITCH_ADDRESS} type bridge")
        _ip("link set switch up")
        _ip(f"addr add {SWITCH}/32 dev switch")  # else getaddrinfo finds IPv6 addresses alone
        Path(ROUTED).write_text("1", encoding="ascii")
        _ip("rule add pref 100 lookup local")
        for host in self.hosts:
            _ip(f"rule add pref 10 to {host} lookup {TABLE}")
        _ip("rule del pref 0")
        for host in self.hosts:
            self._join(host)

    def prefix(self, host: str) -> tuple[str, ...]:
        """Return what comes before a command that is to run on a machine."""
        return ("ip", "netns", "exec", _name(host))

    def cut(self, host: str) -> None:
        """Let nothing arrive at a machine, and nothing that it sends."""
        _ip(f"link set {_name(host)} nomaster")

    def mend(self, host: str) -> None:
        """Join a machine to the others again."""
        _ip(f"link set {_name(host)} master switch")

    def _join(self, host: str) -> None:
        name = _name(host)
        _ip(f"netns add {name}")
        _ip(f"link add {name} type veth peer name eth0 netns {name}")
        _ip(f"link set {name} master switch")
        _ip(f"link set {name} arp off up")  # off the bridge, it must not say who 127.0.0.1 is
        _run(*self.prefix(host), "sh", "-c", f"echo 1 >{ROUTED}")
        there = f"-n {name}"
        _ip(f"{there} addr add {host}/32 dev eth0")
        _ip(f"{there} link set eth0 up")
        _ip(f"{there} route add {LOOPBACK} dev eth0 src {host}")
        _ip(f"route add {host} dev switch src {HERE} table {TABLE}")


def _name(host: str) -> str:
    return f"machine{host.rpartition('.')[2]}"


def _ip(command: str) -> str:
    return _run("ip", *command.split())


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MachinesError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
