"""Between bytes and core: names on Kafka, Avro schemas, descriptors, entries, events, progress.

This room knows encodings and nothing else: neither when something is written nor where it is read.
"""
