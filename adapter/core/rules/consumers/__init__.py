"""Durable consumers: batches that are claimed, read and consumed."""
