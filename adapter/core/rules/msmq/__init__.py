"""MSMQ: its queues, sends, receives, moves, journals and dead letters."""
