"""From the ledger to ordinary topics, exactly once: messages to the queues' topics, and events.

It knows Kafka's transactions and what is to be copied where. It must not know the owner: movers see
only what is durable in the ledger, and the ledger does not wait for them.
"""
