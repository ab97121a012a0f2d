"""Planning a cluster: folders and ports for every broker, and whether they can be had.

Wrong arguments and taken folders or ports are refused here, before anything is started.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.ports import free_ports, require_free
from adapter.localkafka.readiness import is_in_use
from adapter.localkafka.settings import BrokerPlan, broker_folder

# One needs no quorum; three survive the loss of one. Anything else costs more and gives no more.
CLUSTER_SIZES = (1, 3)
PORTS_PER_BROKER = 3  # for clients, for the controllers, behind a proxy


def plan_cluster(
    folder: Path, brokers: int, port: int | None, proxies: Mapping[int, int]
) -> list[BrokerPlan]:
    """Choose folders and ports; raises LocalKafkaError for what cannot be."""
    _check_arguments(folder, brokers, proxies)
    ports = free_ports(brokers * PORTS_PER_BROKER)
    return [
        BrokerPlan(
            number=number,
            folder=broker_folder(folder, number),
            port=ports.pop() if port is None else port + number - 1,
            controller_port=ports.pop(),
            proxied_port=ports.pop() if number in proxies else None,
            proxy_port=proxies.get(number),
        )
        for number in range(1, brokers + 1)
    ]


def _check_arguments(folder: Path, brokers: int, proxies: Mapping[int, int]) -> None:
    if brokers not in CLUSTER_SIZES:
        raise LocalKafkaError(f"a local Kafka has 1 or 3 brokers, not {brokers}: choose")
    if "," in str(folder):
        raise LocalKafkaError(f"Kafka takes no comma in a data folder's path, as in {folder}")
    if unknown := sorted(set(proxies) - set(range(1, brokers + 1))):
        raise LocalKafkaError(
            f"proxies names the brokers {unknown}, and there are only 1 to {brokers}"
        )
    names = [path.name for path in folder.glob("broker-*")]
    existing = {int(match[1]) for name in names if (match := re.fullmatch(r"broker-(\d+)", name))}
    if existing and existing != set(range(1, brokers + 1)):
        raise LocalKafkaError(
            f"{folder} holds the data of {len(existing)} broker(s), not of {brokers}: ask for as "
            "many, or use another data folder"
        )


def require_startable(plans: Sequence[BrokerPlan]) -> None:
    """Refuse folders that another Kafka uses and ports that are taken."""
    for plan in plans:
        if is_in_use(plan.data):
            raise LocalKafkaError(
                f"another Kafka is running on {plan.folder.parent}: stop it (mqk kafka stop, or "
                "the program that has started it), or use another data folder"
            )
        require_free(plan.port, f"broker {plan.number}")
        require_free(plan.controller_port, f"the controller of broker {plan.number}")
        if plan.proxied_port is not None:
            require_free(plan.proxied_port, f"broker {plan.number} behind its proxy")
