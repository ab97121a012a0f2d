"""A directory (LDAP) for tests: ldaptor's server, in a process of its own.

`python -m tests.support.ldap_server [CERTIFICATE KEY]` prints the port. The users ann and bob have
the password `secret`, and so has `o'b*(x)`; the groups are in ou=groups.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BASE = "dc=example,dc=org"
USER_DN, GROUP_BASE = f"uid={{}},ou=people,{BASE}", f"ou=groups,{BASE}"
USERS = ("ann", "bob", "o'b*(x)", "a,b")
GROUPS = {"writers": ("ann",), "readers": ("ann", "bob"), "others": ("o'b*(x)",)}


@contextmanager
def directory(*files: Path) -> Iterator[str]:
    """Run one; its URL. files: certificate and key, for ldaps."""
    command = [sys.executable, "-m", "tests.support.ldap_server", *map(str, files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            assert port.isdigit(), port
            yield f"{'ldaps' if files else 'ldap'}://127.0.0.1:{port}"
        finally:
            process.kill()


def main() -> None:
    """Serve until the process is ended."""
    from ldaptor.inmemory import ReadOnlyInMemoryLDAPEntry
    from ldaptor.interfaces import IConnectedLDAPEntry
    from ldaptor.protocols.ldap.ldapserver import LDAPServer
    from twisted.internet import protocol, reactor, ssl
    from twisted.python.components import registerAdapter

    top = ReadOnlyInMemoryLDAPEntry(b"dc=org", {b"dc": [b"org"], b"objectClass": [b"dcObject"]})
    base = top.addChild(b"dc=example", {b"dc": [b"example"], b"objectClass": [b"dcObject"]})
    people, groups = (
        base.addChild(b"ou=" + name, {b"ou": [name], b"objectClass": [b"organizationalUnit"]})
        for name in (b"people", b"groups")
    )
    dns = {}
    for user in USERS:
        escaped = user.replace(",", "\\,").encode()
        person = {b"objectClass": [b"person"], b"userPassword": [b"secret"], b"cn": [b"x"]}
        dns[user] = people.addChild(b"uid=" + escaped, person | {b"uid": [user.encode()]}).dn
    for group, members in GROUPS.items():
        names = [dns[one].getText().encode() for one in members]
        about = {b"objectClass": [b"groupOfNames"], b"cn": [group.encode()], b"member": names}
        groups.addChild(b"cn=" + group.encode(), about)

    class Factory(protocol.ServerFactory):  # type: ignore[misc]
        protocol = LDAPServer
        root = top

    registerAdapter(lambda factory: factory.root, Factory, IConnectedLDAPEntry)
    if len(sys.argv) > 1:
        options = ssl.DefaultOpenSSLContextFactory(sys.argv[2], sys.argv[1])
        port = reactor.listenSSL(0, Factory(), options, interface="127.0.0.1")
    else:
        port = reactor.listenTCP(0, Factory(), interface="127.0.0.1")
    print(port.getHost().port, flush=True)
    reactor.run()


if __name__ == "__main__":
    main()
