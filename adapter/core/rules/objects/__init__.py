"""Queues and other objects, handles, sessions and connections: their definition, their end."""
