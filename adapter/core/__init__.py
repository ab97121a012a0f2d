"""The semantics of the queue manager: pure, synchronous, deterministic.

A request goes in, records and replies come out; time, ids and randomness are inputs. This room
must not know clocks, encodings, topics, sockets or threads: the standard library and msgspec only.
"""
