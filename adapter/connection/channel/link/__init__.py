"""Connections that carry frames: the port, over TCP, and within one process."""
