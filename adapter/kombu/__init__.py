"""A transport of kombu, so that Celery runs on a queue manager.

    import adapter.kombu  # makes mqk:// known

    app = celery.Celery("shop", broker="mqk://127.0.0.1:1414/QM1", backend="rpc://")

This room is a client program: it uses the SDK, and knows nothing of how it works.
"""

from kombu.transport import TRANSPORT_ALIASES

from adapter.kombu.transport import MqkTransport

TRANSPORT_ALIASES.setdefault("mqk", "adapter.kombu.transport:MqkTransport")

__all__ = ["MqkTransport"]
