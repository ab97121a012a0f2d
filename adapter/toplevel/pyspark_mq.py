"""The data source `mq`, where Spark looks for data sources that register themselves."""

from spark_jobs.datasource import MqDataSource as DefaultSource

__all__ = ["DefaultSource"]
