"""Drives core on a ledger: take what waits, decide, apply, append, and keep the promises.

This room knows that there is a ledger and that entries become durable; it knows neither sockets
nor topics.
"""
