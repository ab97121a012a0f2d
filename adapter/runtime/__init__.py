"""What runs a queue manager on its storage: the owner, and what reads and writes for it elsewhere.

This floor knows no socket of a client.
"""
