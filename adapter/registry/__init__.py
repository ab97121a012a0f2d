"""Avro schemas by number: the registry that programs ask, and the one that mqk has of its own.

port says what a registry is; rest asks one over HTTP; topic is ours, on a compacted topic, served
over HTTP by http. values writes and reads message bodies in the standard frame. This room knows
neither queues nor messages.
"""
