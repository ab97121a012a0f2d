"""A Kafka in a container, for tests that use Testcontainers: the extra `testcontainers`.

    from adapter.localkafka.container import KafkaContainer

    with KafkaContainer() as kafka:
        adapter.testing.queue_manager(bootstrap_servers=kafka.bootstrap_servers)

The image is ours (docker/kafka, built by `make images`) or another one that takes its settings as
the image apache/kafka does. Testcontainers' own class starts neither, and its broker begins no
transaction: with one broker their topic must be told to have one copy. The broker has the settings
of LocalKafka. What is published is published on loopback only.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from testcontainers.core.container import DockerContainer

from adapter.localkafka import settings
from adapter.localkafka.broker import new_cluster_id
from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.ports import HOST
from adapter.localkafka.readiness import await_ready
from adapter.localkafka.settings import BrokerPlan

IMAGE = "mqk-kafka"
PORT = 9092
INSIDE_PORT = 9093
CONTROLLER_PORT = 9094
DATA = "/var/lib/kafka/data"
QUOTED_BYTES_MAX = 2000
START = "/etc/kafka/docker/run"
# Where clients are sent can be said when Docker has chosen the port: after the container has begun.
TOLD = "/tmp/advertised.listeners"  # noqa: S108 - inside the container
AWAIT_AND_START = (
    f"until [ -f {TOLD} ]; do sleep 0.05; done; "
    f"KAFKA_ADVERTISED_LISTENERS=$(cat {TOLD}) exec {START}"
)
TELL = f'printf %s "$0" >{TOLD}.new && mv {TOLD}.new {TOLD}'
IN_NAMES = str.maketrans({".": "_", "_": "__", "-": "___"})


def variable(setting: str) -> str:
    """Return the variable that gives a broker's setting: KAFKA_LOG_DIRS for log.dirs."""
    return "KAFKA_" + setting.translate(IN_NAMES).upper()


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a lone broker, but for where it sends clients."""
    plan = BrokerPlan(number=1, folder=Path("/"), port=PORT, controller_port=CONTROLLER_PORT)
    names = ("PLAIN", "INSIDE", "CONTROLLER")
    listeners = zip(names, (PORT, INSIDE_PORT, CONTROLLER_PORT), strict=True)
    wanted = settings.properties(plan, [plan], {}) | {
        "listeners": ",".join(f"{name}://:{port}" for name, port in listeners),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        # The broker calls itself to verify transactions: by an address that holds in the container.
        "inter.broker.listener.name": "INSIDE",
        "log.dirs": DATA,
        **extra,
    }
    del wanted["advertised.listeners"]
    return {variable(key): value for key, value in wanted.items()} | {
        "CLUSTER_ID": new_cluster_id()
    }


class KafkaContainer(DockerContainer):
    """A container with one Kafka broker; a context manager. It is empty at every start.

    image: what `make images` has built, or apache/kafka:4.1.0 and its like. settings: broker
    settings that win over those of LocalKafka. options: those of DockerContainer. start() raises
    LocalKafkaError if the broker ends or does not answer, with its last words.
    """

    def __init__(
        self, image: str = IMAGE, *, settings: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        super().__init__(image, **options)
        self.env |= environment(settings or {})
        self.with_command(["sh", "-c", AWAIT_AND_START])
        # Docker's client takes the pair; Testcontainers hands on what it is given.
        published: dict[str, Any] = self.ports
        published[f"{PORT}/tcp"] = (HOST, None)

    @property
    def bootstrap_servers(self) -> str:
        """Where programs of this machine connect; known once started."""
        return f"{HOST}:{self._get_exposed_port(PORT)}"

    @property
    def inside_bootstrap_servers(self) -> str:
        """Where other containers of its network connect: its first alias there, else its name."""
        aliases = self._network_aliases or [self.get_container_id()[:12]]
        return f"{aliases[0]}:{INSIDE_PORT}"

    def start(self) -> Self:
        """Start the container, and wait until the broker answers."""
        super().start()
        try:
            where = f"PLAIN://{self.bootstrap_servers},INSIDE://{self.inside_bootstrap_servers}"
            told = self.exec(["sh", "-c", TELL, where])
            if told.exit_code != 0:
                raise LocalKafkaError(f"{self.image} has no usable shell: {told.output.decode()}")
            port = self._get_exposed_port(PORT)
            plan = BrokerPlan(number=1, folder=Path("/"), port=port, controller_port=0)
            await_ready([plan], self._check_alive)
        except BaseException:
            self.stop()
            raise
        return self

    def _check_alive(self) -> None:
        self.reload()
        if self.status != "running":
            said = b"".join(self.get_logs())[-QUOTED_BYTES_MAX:].decode(errors="replace")
            raise LocalKafkaError(f"the broker in {self.image} has ended. Its last words:\n{said}")
