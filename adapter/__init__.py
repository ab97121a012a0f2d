"""A queue manager on Apache Kafka."""
