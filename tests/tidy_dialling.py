"""Every module that connects is listed here; test_tls_asked_for.py tries those that use TLS."""

import ast
from collections.abc import Iterable, Mapping

from tests.tidy_rules import Source

DIALS = frozenset(
    {
        "create_connection", "open_connection", "create_unix_connection", "open_unix_connection",
        "sock_connect", "start_tls", "urlopen", "ClientSession", "HTTPConnection",
        "HTTPSConnection", "AsyncClient", "SchemaRegistryClient", "build_opener", "urlretrieve",
    }
)  # fmt: skip
"""Functions and classes of libraries that connect."""
OF_LIBRARIES = frozenset({"socket.socket", "ldap3.Connection", "httpx.Client", "httpx2.Client"})
"""Whose last name alone says too little."""

WITH_TLS: Mapping[str, str] = {
    "adapter.connection.channel.link.tcp": "connect(tls=) of threads",
    "adapter.aio.link": "connect(tls=) of tasks",
    "adapter.server.standby.owner_link": "an owner that announced an address for TLS",
    "adapter.server.access.token_checks": "keys at a URL with https",
    "adapter.server.access.ldap_users": "a directory with ldaps",
    "adapter.registry.rest": "a schema registry with https",
    "adapter.cli.broker": "a webhook with https",
}
"""Modules that may be told to use TLS, each with how."""
WITHOUT: Mapping[str, str] = {
    "adapter.cli.ending": "asks whether anything listens, and sends nothing",
    "adapter.cli.registry": "asks whether anything listens on this machine, and sends nothing",
    "adapter.localkafka.ports": "asks which ports of this machine are free",
    "adapter.localkafka.readiness": "asks whether a Kafka of this machine's own has started",
    "adapter.msmq.names": "asks the system for the address of this machine; UDP, nothing is sent",
    "adapter.server.listen.listener": "listens; asks whether a socket of this machine is in use",
    "adapter.server.process.supervisor": "says to systemd that it is ready; a local socket",
    "adapter.testing": "looks for a free port",
}
"""Modules that send nothing over a network."""


def dialling(sources: Iterable[Source]) -> list[str]:
    """Every module that connects is in one of the tables, and every module in them connects."""
    listed = WITH_TLS.keys() | WITHOUT.keys()
    found: dict[str, str] = {}
    for source in sources:
        if source.path.startswith(("adapter/", "spark_jobs/")):
            for node in source.nodes:
                if isinstance(node, ast.Call) and _dials(ast.unparse(node.func)):
                    found.setdefault(source.module, f"{source.path}:{node.lineno}")
    unlisted = [
        f"{where}: {module} connects: list it in tests/tidy_dialling.py, and try it with TLS"
        for module, where in found.items()
        if module not in listed
    ]
    idle = [
        f"{module} is in a table of tests/tidy_dialling.py, and connects nowhere"
        for module in sorted(listed - found.keys())
    ]
    return unlisted + idle


def _dials(called: str) -> bool:
    return called in OF_LIBRARIES or called.rpartition(".")[2] in DIALS
