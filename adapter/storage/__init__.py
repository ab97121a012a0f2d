"""What is written, and where: formats, the ledger, queues' topics, movers, backups.

This floor knows no rule of queues.
"""
