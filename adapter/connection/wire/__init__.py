"""The client connection, sans-I/O: frames and the session of either end.

Bytes go in, events come out. This room knows core's commands, results and reasons, and no socket.
"""
