"""Other queue managers beside ours: RabbitMQ, Artemis, and what programs do with Kafka alone."""

from benchmarks.peers.measuring import measure
from benchmarks.peers.variants import versions

__all__ = ["measure", "versions"]
