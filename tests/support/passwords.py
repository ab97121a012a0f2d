"""Hashes of passwords that are cheap to make and to check.

What the queue manager makes costs 50 ms and 64 MiB on purpose; a hash says itself what it costs.
"""

from argon2 import PasswordHasher


def hash_cheaply(password: str) -> str:
    """Return what the file of users keeps of a password."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(password)
