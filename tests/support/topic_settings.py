"""Settings of topics, changed as an administrator does."""

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from adapter.localkafka import LocalKafka

END_S = 20.0


def set_up(kafka: LocalKafka, topic: str, key: str, value: str) -> None:
    """Set a topic's setting, as an administrator does."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    resource.add_incremental_config(
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    )
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(END_S)
