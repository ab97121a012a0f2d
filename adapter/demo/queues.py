"""The demo's queue manager and queues."""

from __future__ import annotations

QUEUE_MANAGER = "DEMO"
IN = "FLIGHTS.IN"
DONE = "FLIGHTS.DONE"
BACKOUT = "FLIGHTS.BACKOUT"
BACKOUT_THRESHOLD = 3
UNIT_SIZE = 100
