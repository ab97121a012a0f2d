"""Clients that a queue manager has of itself, in threads of its own process."""
