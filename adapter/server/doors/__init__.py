"""A folder for each protocol that programs speak to a queue manager."""
