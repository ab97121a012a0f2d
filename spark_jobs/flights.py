"""The job `flights`: delays by hour, carrier and airport, from the queue that the demo has filled.

A body is a line of the demo's table, and what its worker made of it at the end. The delays become
Parquet, messages on a queue of summaries, and a chart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
from matplotlib.figure import Figure
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from adapter.command.grouped import GroupedCommand
from adapter.command.options import DEFAULT_ADDRESS
from spark_jobs import running, sinks, sources

FIELDS = {"dep_delay": 5, "arr_delay": 8, "carrier": 9, "origin": 12, "hour": 16, "made_up": 19}
"""Where they are in a line."""
NUMBERS = ("dep_delay", "arr_delay", "hour", "made_up")
KEYS = ("hour", "carrier", "origin")
CARRIERS_MAX = 10
HOURS = range(5, 24, 3)
PIXELS_AN_INCH = 110


@click.command(cls=GroupedCommand, groups=running.GROUPS)
@click.argument("path", type=click.Path(file_okay=False))
@running.job_options
@click.option(
    "--queue", default="FLIGHTS.DONE", show_default=True, metavar="QUEUE", help="What is read."
)
@click.option(
    "--summary-queue", metavar="QUEUE", help="Put the delays of each hour there, as JSON."
)
@click.option(
    "--qmgr", envvar="MQK_QMGR", default=DEFAULT_ADDRESS, show_default=True, show_envvar=True,
    metavar="HOST:PORT", help="Where the queue manager of the summary queue listens.",
)  # fmt: skip
@click.option("--chart", type=click.Path(dir_okay=False), help="[default: flights.png in PATH]")
def flights(
    path: str, queue: str, summary_queue: str | None, qmgr: str, chart: str | None, **given: Any
) -> None:
    """Work out delays by hour, carrier and airport; PATH is a folder of this machine.

    Each batch writes the delays of all flights so far, as Parquet: the highest batch_id has the
    newest. --messages-a-batch 0 makes one batch of everything.
    """
    path = running.folder(path)
    job = running.job_of(path, given)
    picture = Path(chart or f"{path}/flights.png")

    def work(spark: SparkSession) -> dict[str, Any]:
        messages = sources.queue_stream(
            spark, queue, bootstrap_servers=job.bootstrap_servers,
            queue_manager=job.queue_manager, kafka_options=job.kafka_options,
            max_messages_per_batch=job.messages_a_batch or None,
        )  # fmt: skip
        name = f"FLIGHTS.{queue}"[: sinks.APPLICATION_LENGTH_MAX]
        sink = writing(path, picture, summary_queue, qmgr, name)
        check = job.topic_check(spark, queue)
        totals = running.follow(job.start(delays(messages), sink, "complete"), check)
        report = {"queue": queue, "path": path, "chart": str(picture), **totals}
        return report | ({"summary_queue": summary_queue} if summary_queue else {})

    running.perform("flights", job, work)


def writing(
    path: str, picture: Path, summary_queue: str | None, qmgr: str, application_id: str
) -> sinks.Sink:
    """Write the delays of one batch everywhere they go."""
    files = sinks.parquet(path)
    put = (
        sinks.to_queue(summary_queue, address=qmgr, application_id=application_id)
        if summary_queue
        else None
    )

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        try:
            files(batch, batch_id)
            if put is not None:
                put(as_messages(batch), batch_id)
            draw(batch.collect(), picture)
        finally:
            batch.unpersist()

    return write


def delays(messages: DataFrame) -> DataFrame:
    """Flights and mean delays in minutes, by hour, carrier and airport."""
    line = F.split(F.col("body").cast("string"), ",")
    fields = {name: F.get(line, F.lit(at)) for name, at in FIELDS.items()}
    typed = [
        (F.expr(f"try_cast({name} as int)") if name in NUMBERS else F.col(name)).alias(name)
        for name in FIELDS
    ]
    told = messages.select(*(column.alias(name) for name, column in fields.items())).select(*typed)
    return told.groupBy(*KEYS).agg(
        F.count(F.lit(1)).alias("flights"),
        F.avg("dep_delay").alias("departure_delay"),
        F.avg("arr_delay").alias("arrival_delay"),
        F.avg("made_up").alias("made_up"),
    )


def as_messages(found: DataFrame) -> DataFrame:
    """A message of JSON for each hour."""
    hours = found.groupBy("hour").agg(
        F.sum("flights").alias("flights"),
        F.round(F.expr("sum(departure_delay * flights) / sum(flights)"), 2).alias(
            "departure_delay"
        ),
    )
    body = F.to_json(F.struct("hour", "flights", "departure_delay")).alias("body")
    return hours.orderBy("hour").coalesce(1).select(body, F.lit("MQSTR").alias("format"))


def draw(rows: list[Row], picture: Path) -> None:
    """Draw delays by hour for each airport, and by carrier; the file appears whole."""
    known = [row for row in rows if row["departure_delay"] is not None]
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        by_hour, by_carrier = figure.subplots(1, 2)
        for origin in sorted({row["origin"] for row in known}):
            of = [row for row in known if row["origin"] == origin]
            hours = sorted({row["hour"] for row in of})
            mean = [mean_delay([row for row in of if row["hour"] == hour]) for hour in hours]
            by_hour.plot(hours, mean, marker="o", markersize=3, label=origin)
        by_hour.set(xlabel="hour of departure", ylabel="mean delay, minutes", xticks=HOURS)
        by_hour.set_title("Departure delay by hour and airport", loc="left")
        if known:
            by_hour.legend(frameon=False)
        carriers = largest_carriers(known)
        by_carrier.barh([name for name, _ in carriers], [delay for _, delay in carriers])
        by_carrier.set(xlabel="mean delay, minutes")
        by_carrier.set_title("The largest carriers", loc="left")
        draft = picture.with_name(f".{picture.name}")
        picture.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(draft, format="png", dpi=PIXELS_AN_INCH)
        draft.replace(picture)


def largest_carriers(rows: list[Row]) -> list[tuple[str, float]]:
    """The carriers with most flights, and their mean delay; ascending by that."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["carrier"]] = counts.get(row["carrier"], 0) + row["flights"]
    names = sorted(counts, key=lambda name: -counts[name])[:CARRIERS_MAX]
    delays_of = [
        (name, mean_delay([row for row in rows if row["carrier"] == name])) for name in names
    ]
    return sorted(delays_of, key=lambda pair: pair[1])


def mean_delay(rows: list[Row]) -> float:
    """The mean departure delay of all flights of some rows, in minutes."""
    flights_of = sum(row["flights"] for row in rows)
    return float(sum(row["departure_delay"] * row["flights"] for row in rows) / flights_of)


if __name__ == "__main__":
    running.script("flights")
