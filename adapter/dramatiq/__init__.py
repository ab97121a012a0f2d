"""A broker of dramatiq on a queue manager.

    import dramatiq
    from adapter.dramatiq import MqkBroker

    dramatiq.set_broker(MqkBroker(address="127.0.0.1:1414"))

This room is a client program: it uses the SDK, and knows nothing of how it works.
"""

from adapter.dramatiq.broker import MqkBroker

__all__ = ["MqkBroker"]
