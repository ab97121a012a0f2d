"""Queues for Spark: the messages of a queue as a DataFrame, in order, and jobs made of them.

    from spark_jobs import session, sources, sinks

    spark = session.spark_session("orders")
    orders = sources.queue_stream(spark, "ORDERS", bootstrap_servers="127.0.0.1:9092")
    query = orders.writeStream.foreachBatch(sinks.parquet("/data/orders"))

A queue's topic is read with Spark's own Kafka source, and its descriptors are decoded in the JVM.
What is written goes through the SDK or into files. This package knows what is on Kafka and the
client's verbs; it must not know how a queue manager decides.
"""
