"""Service Broker: its catalog, conversations, their delivery, and activation."""
