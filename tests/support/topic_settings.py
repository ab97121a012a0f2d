"""Settings of topics, read and changed as an administrator does.

The controller confirms a change before the broker acts on it: of a hundred records that are sent
at once after a smaller max.message.bytes, some are still taken. The broker publishes its metadata
in steps, one after the other: what it describes first, what its logs do last. So a change has
taken effect for sure when the broker describes a *later* one.
"""

from collections.abc import Mapping

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.support.backlog import until

END_S = 20.0
LATER = "segment.jitter.ms"
"""A setting that no test looks at: how much earlier than segment.ms a segment may end."""


def topic_settings(admin: AdminClient, topic: str) -> dict[str, str]:
    """What the broker says about a topic."""
    asked = ConfigResource(ResourceType.TOPIC, topic)
    entries = admin.describe_configs([asked])[asked].result(END_S)
    return {entry.name: entry.value for entry in entries.values()}


def configure(bootstrap_servers: str, topic: str, settings: Mapping[str, str]) -> None:
    """Change settings of a topic, and wait until the broker acts on them."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    _alter(admin, topic, settings)
    jitter_ms = int(topic_settings(admin, topic)[LATER])
    _alter(admin, topic, {LATER: str(jitter_ms + 1)})


def _alter(admin: AdminClient, topic: str, settings: Mapping[str, str]) -> None:
    """Change settings, and wait until the broker describes them so."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    for key, value in settings.items():
        change = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource.add_incremental_config(change)
    admin.incremental_alter_configs([resource])[resource].result(END_S)
    until(lambda: settings.items() <= topic_settings(admin, topic).items())
