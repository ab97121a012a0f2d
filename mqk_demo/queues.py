"""The demo's queue manager and queues."""

from __future__ import annotations

QUEUE_MANAGER = "DEMO"
IN = "FLIGHTS.IN"
DONE = "FLIGHTS.DONE"
BACKOUT = "FLIGHTS.BACKOUT"
BACKOUT_THRESHOLD = 3
UNIT_SIZE = 100
INITIATION = "SYSTEM.DEFAULT.INITIATION.QUEUE"
PROCESS = "FLIGHTS.CREW"

WORKER_GRACE_S = 10.0
"""For a worker that was stopped: it commits its open unit."""

AWAY_MAX_S = 300.0
"""How long worker and producer wait for a queue manager that is away: it reads its whole ledger."""
