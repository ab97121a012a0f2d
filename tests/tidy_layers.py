"""Who may import whom: the architecture as a table, and what it refuses.

THINK TWICE BEFORE CHANGING THIS FILE. The rules know nothing of pytest; test_tidy.py runs them on
the repository and on bad samples.
"""

import ast
from collections.abc import Mapping

from tests.tidy_rules import BESIDE, STANDS_ALONE, Source, is_within, room_of

BELOW_RULES = "core.contract core.model core.attributes core.mq_layouts"
MESSAGES_AND_BELOW = f"{BELOW_RULES} core.rules.primitives core.rules.network core.rules.messages"

# Room -> what it may import of ours, itself always included. A name stands for that module and
# everything in it. "*" is for the rooms that put everything together.
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    room: frozenset(names.split())
    for room, names in {
        "core": "",
        # What crosses core's border knows nothing of what is behind it.
        "core.contract": "",
        # Families of rules: what is shared first, what knows them all last.
        "core.rules.primitives": BELOW_RULES,
        "core.rules.network": f"{BELOW_RULES} core.rules.primitives",
        "core.rules.messages": f"{BELOW_RULES} core.rules.primitives core.rules.network",
        "core.rules.pubsub": MESSAGES_AND_BELOW,
        "core.rules.consumers": MESSAGES_AND_BELOW,
        "core.rules.broker": MESSAGES_AND_BELOW,
        "core.rules.msmq": MESSAGES_AND_BELOW,
        "core.rules.objects": (
            f"{MESSAGES_AND_BELOW} core.rules.pubsub core.rules.consumers core.rules.broker "
            "core.rules.msmq"
        ),
        "core.rules.drive": f"{BELOW_RULES} core.rules",
        "host": "",
        "host.settings": "",
        "connection": "",
        "storage": "",
        "runtime": "",
        "errors": "core.contract.reasons",
        "host.launch": "errors",
        "host.program": "host.memory",
        "host.allowed": "errors host.launch",
        "host.settings.acls": "storage.format",
        "host.addresses": "",
        "host.certificates": "host.texts",
        "host.tls_alerts": "",
        "host.settings.setting_rows": "core",
        "host.texts": "host.file_locks",
        "host.file_locks": "",
        "host.memory": "",
        "host.compiled": "",
        "host.release": "",
        "host.web": "host.addresses",
        "runtime.xml_validation": "",
        "host.settings.config": "errors core host.settings.setting_rows host.texts",
        "host.settings.ledger_keys": "storage.ledger.seals host.texts",
        "host.logs": "host.texts",
        "storage.format": "core errors",
        "host.watched": "",
        "storage.ledger": "host.watched",
        "storage.topics": (
            "core.contract errors storage.format storage.ledger.answers storage.ledger.failures "
            "storage.ledger.kafka_settings storage.ledger.port"
        ),
        "kafka": (
            "aio connection.channel client core.contract errors runtime.feeds.kafka "
            "runtime.feeds.port storage.format storage.topics.decoder host.watched"
        ),
        "runtime.own_clients": "connection.channel core.contract errors host.watched",
        "runtime.network": (
            "connection.channel core.contract core.mq_layouts errors storage.format "
            "storage.ledger.failures storage.ledger.kafka_producers storage.ledger.kafka_settings "
            "storage.ledger.port host.logs runtime.own_clients host.settings.setting_rows "
            "storage.topics.admin storage.topics.specs host.watched"
        ),
        "runtime.exports": (
            "connection.channel core.attributes core.contract core.mq_layouts errors "
            "storage.format storage.ledger.failures host.logs storage.movers runtime.own_clients "
            "storage.topics.admin storage.topics.memory storage.topics.specs"
        ),
        "runtime.feeds": (
            "core.attributes core.contract errors storage.format storage.ledger.answers "
            "storage.ledger.failures storage.ledger.kafka_settings storage.ledger.port host.logs "
            "registry storage.topics.admin storage.topics.memory host.watched"
        ),
        "runtime.owner": (
            "core.contract core.attributes core.inputs core.dispatch core.effects core.model "
            "core.rules.drive.restore core.rules.messages.unit core.rules.objects.queues "
            "core.rules.primitives.lifetime runtime.feeds.port storage.format storage.ledger.port "
            "storage.ledger.snapshots host.launch host.logs host.memory storage.topics.port "
            "host.watched runtime.xml_validation"
        ),
        "storage.movers": (
            "core.contract storage.format storage.ledger storage.topics errors "
            "host.settings.config host.launch host.logs host.memory host.watched"
        ),
        "storage.backup": (
            "core.contract storage.format storage.ledger storage.movers storage.topics errors"
        ),
        "connection.wire": "core.contract core.attributes errors",
        "registry": (
            "host.addresses host.texts host.web errors storage.ledger storage.topics "
            "storage.format.avro storage.format.schemas host.launch host.watched"
        ),
        "connection.channel": (
            "host.addresses host.certificates host.watched connection.wire core.contract "
            "core.mq_layouts core.attributes errors"
        ),
        "client": (
            "connection.channel runtime.network.dialing registry.port registry.rest "
            "registry.values storage.topics.events connection.wire core.contract core.mq_layouts "
            "core.attributes errors"
        ),
        "aio": (
            "host.addresses host.certificates host.tls_alerts connection.channel client "
            "runtime.network.dialing registry.port registry.values host.watched connection.wire "
            "core.contract core.attributes errors"
        ),
        "mq_constants": "",
        "character_sets": "",
        "administration": (
            "character_sets host.texts client errors mq_constants host.watched core.attributes "
            "core.contract services"
        ),
        "services": (
            "host.allowed connection.channel client core.contract.wildcards host.launch "
            "mq_constants errors core.mq_layouts host.watched"
        ),
        # Coroutine functions run on aio.
        "workers": "aio connection.channel client errors host.watched",
        # Adapters for frameworks are client programs: they use the front door only. What they share
        # puts on what others have put, as all forwarding programs of ours do.
        "frameworks": "adapter client.acting client.options core.mq_layouts.dead_letter errors",
        "kombu": "adapter errors frameworks",
        "dramatiq": "adapter errors frameworks",
        "mqi": (
            "host.certificates administration host.texts connection.channel character_sets "
            "host.launch mq_constants errors core.attributes core.contract core.mq_layouts "
            "services"
        ),
        "msmq": (
            "host.allowed connection.channel core.contract core.attributes errors host.launch "
            "runtime.network.dialing host.watched"
        ),
        "servicebroker": (
            "host.allowed connection.channel core.contract core.attributes errors host.launch "
            "runtime.network.dialing host.watched"
        ),
        "toplevel": (
            "adapter aio kafka localkafka mq_constants mqi msmq servicebroker spark_jobs testing"
        ),
        "server": (
            "host.settings.ledger_keys runtime.exports runtime.feeds runtime.network "
            "runtime.own_clients runtime.owner connection.wire core.contract core.attributes "
            "core.inputs storage.format storage.ledger storage.movers registry storage.topics "
            "errors host.settings.config host.settings.setting_rows host.launch host.logs "
            "host.watched host.web host.addresses host.certificates host.compiled host.memory "
            "host.release host.texts host.tls_alerts administration.pcf.command_server"
        ),
        # Rooms of the server: what a door may lean on comes first, what shows it all last.
        "server.process": (
            "core.contract errors runtime.exports.port runtime.feeds.port runtime.network.figures "
            "runtime.owner.figures host.watched"
        ),
        "server.access": (
            "host.addresses host.certificates core.attributes core.contract errors "
            "runtime.owner.inquiries server.process host.texts host.watched"
        ),
        "server.listen": (
            "host.addresses host.certificates core.contract errors runtime.owner server.access "
            "server.process host.texts host.tls_alerts host.watched connection.wire.heartbeats"
        ),
        "server.standby": (
            "core.contract storage.ledger.port host.logs runtime.owner host.watched "
            "connection.wire server.process.figures"
        ),
        "server.services": (
            "administration.pcf.command_server core.attributes core.contract core.inputs errors "
            "runtime.exports runtime.feeds storage.format storage.ledger "
            "host.settings.ledger_keys host.logs storage.movers runtime.network "
            "runtime.own_clients runtime.owner registry server.access.groups server.process "
            "storage.topics host.watched"
        ),
        "server.monitor": (
            "host.addresses core.contract errors runtime.network.figures runtime.owner registry "
            "host.release server.access server.listen server.process server.standby host.watched "
            "host.web"
        ),
        "server.doors": (
            "host.addresses core.contract runtime.owner server.access server.listen "
            "server.process server.services.commands"
        ),
        "server.doors.mqk": (
            "host.addresses core.contract runtime.owner server.access server.doors.gate "
            "server.listen server.standby.standbys connection.wire"
        ),
        "testing": (
            "adapter administration.mqsc aio connection.channel client host.settings.config core "
            "errors runtime.exports runtime.feeds storage.format storage.ledger localkafka "
            "host.logs msmq runtime.network runtime.owner registry server servicebroker "
            "storage.topics connection.wire"
        ),
        "localkafka": "host.file_locks host.launch errors",
        "command": (
            "host.allowed host.settings.config host.settings.setting_rows core.contract.reasons "
            "errors localkafka host.logs host.texts host.watched"
        ),
        "cli": "*",
        "adapter": (
            "connection.channel client errors host.release "
            "aio kafka localkafka mqi msmq servicebroker testing workers"  # these on demand
        ),
        "spark_jobs": (
            "adapter connection.channel client command core.contract errors storage.format "
            "storage.ledger.failures localkafka registry storage.topics"
        ),
        # As a user; wire and commands are for counting the commits that pass its proxy.
        "mqk_demo": (
            "adapter command core.contract.commands core.contract.results errors host.launch "
            "localkafka mqi connection.wire"
        ),
    }.items()
}
# A protocol of clients is known to the one module that wires it in.
WIRED_IN = {"adapter.server.doors.mqk": "adapter.server.server"}


def layering(source: Source) -> list[str]:
    """Who may import whom."""
    room = source.room
    if room is None:
        return []
    if room not in MAY_IMPORT:
        return [f"{source.path}: the room {room} is new; say in MAY_IMPORT what it may import"]
    inside = [one for one in MAY_IMPORT if is_within(source.module, f"adapter.{one}")]
    room = max([room, *inside], key=len)
    allowed = MAY_IMPORT[room] | {room}
    problems = []
    for line, name in source.imports:
        if name.startswith("."):
            problems.append(f"{source.path}:{line}: relative import; write the module's full name")
        elif name.split(".")[0] in {"adapter", *BESIDE} and source.module in STANDS_ALONE:
            problems.append(f"{source.path}:{line}: stands alone, and imports {name}")
        elif is_within(name, "adapter") and "*" not in allowed:
            ours = name.removeprefix("adapter").removeprefix(".") or "adapter"
            front_door = "adapter" in allowed and room_of(name) not in MAY_IMPORT
            if not front_door and not any(is_within(ours, one) for one in allowed):
                problems.append(f"{source.path}:{line}: {room} must not import {name}")
        elif (beside := name.split(".")[0]) in BESIDE and not allowed & {beside, "*"}:
            problems.append(f"{source.path}:{line}: {room} must not import {name}")
    return problems


def wiring(source: Source) -> list[str]:
    """Who may import what is wired in at one place only."""
    return [
        f"{source.path}:{line}: only {by} may import {name}"
        for room, by in WIRED_IN.items()
        if source.room is not None and source.module != by and not is_within(source.module, room)
        for line, name in source.imports
        if is_within(name, room)
    ]


def state_asked_for(source: Source) -> list[str]:
    """The server asks a term for what it needs of the state; it does not read core's objects."""
    if source.room != "server":
        return []
    return [
        f"{source.path}:{node.lineno}: it reads .qm of a term; ask its inquiries or its outgoing"
        for node in source.nodes
        if isinstance(node, ast.Attribute) and node.attr == "qm"
    ]
