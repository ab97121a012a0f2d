"""The SDK: connection, queues, units and administration, over the frames of wire.

It knows core's commands and results, and neither the owner nor the ledger.
"""
