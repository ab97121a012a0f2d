"""The client's side of a connection, and the frames between a client and a queue manager."""
