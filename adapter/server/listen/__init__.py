"""Sockets and the connections of clients: addresses, TLS, bounds, and who is connected.

This room knows no protocol: each connection is one of ServedClient.
"""
