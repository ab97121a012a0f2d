"""Benchmarks on a real broker, raw Kafka beside the queue manager in the same run.

`make bench` prints a table and writes results.json. Quote ratios and medians: absolutes belong to
one machine.
"""
