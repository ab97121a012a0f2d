"""Kafka's ACLs: which rights each role needs, in one table, and the forms that Kafka's tools take.

This room knows names on Kafka; it must not ask a Kafka, nor know who holds the rights.
"""
