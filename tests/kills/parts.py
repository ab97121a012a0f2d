"""What only `make kills` runs, part by part, and which tests of every run are its short form.

Every file of this folder is in a part; `tests/test_kills.py` compares. A part takes half an hour at
most on two cores.
"""

from msgspec import Struct

HERE = "tests/kills"
PYTEST = ("pytest", "--strict-outcomes", "-q", "--timeout=900")


class Part(Struct, frozen=True, kw_only=True):
    """A long form of tests.

    shows: what holds if it passes. commands: each for ``python -m``. needs: a program that it
    cannot run without. short: files that `make test` runs.
    """

    shows: str
    commands: tuple[tuple[str, ...], ...]
    needs: str = ""
    short: tuple[str, ...]

    def files(self) -> list[str]:
        """The files of this folder that it runs."""
        return [
            word
            for command in self.commands
            for word in command
            if word.startswith(f"{HERE}/test_")
        ]


def tests(*names: str) -> tuple[str, ...]:
    """The command that runs test files of this folder."""
    return (*PYTEST, *(f"{HERE}/test_{name}.py" for name in names))


def long(*files: str) -> tuple[str, ...]:
    """The command that runs tests of every run with ten times as many examples, and all cases."""
    return (*PYTEST, "--hypothesis-profile=long", *files)


GENERATING = (
    "tests/unit/core/model/test_groups.py",
    "tests/unit/core/rules/drive/test_fitting.py",
    "tests/unit/core/rules/primitives/test_selection_paging.py",
    "tests/unit/storage/format/test_entries.py",
    "tests/unit/storage/format/test_entries_of_arrivals.py",
    "tests/unit/storage/ledger/test_trims.py",
    "tests/unit/mqi/test_property_names.py",
    "tests/unit/mqi/test_rfh2.py",
    "tests/unit/runtime/network/test_collecting.py",
    "tests/unit/runtime/network/test_directory.py",
    "tests/unit/runtime/owner/test_failed_steps.py",
    "tests/unit/runtime/owner/test_loop.py",
    "tests/unit/server/services/test_network_backlog.py",
    "tests/unit/storage/topics/test_reader_threads.py",
    "tests/mqi/test_consumption_walks.py",
    "tests/mqi/test_what_fails.py",
    "tests/scenarios/test_transcripts.py",
)

CASES = (
    "tests/acceptance/test_examples.py",
    "tests/integration/test_exports.py",
    "tests/spark/test_getting.py",
    "tests/spark/test_sources.py",
)

COMPILED = "build/compiled"
COMPILED_ROOMS = (
    *("tests/unit/aio", "tests/unit/client", "tests/unit/connection", "tests/unit/core"),
    *("tests/unit/storage/format", "tests/unit/storage/ledger", "tests/unit/storage/movers"),
    *("tests/unit/runtime/owner", "tests/unit/server/listen", "tests/unit/server/doors"),
    "--ignore=tests/unit/client/test_prefetch_ends.py",  # it sets what compiled classes keep
)

PARTS: dict[str, Part] = {
    "soak": Part(
        shows="a copying program's units through 200 kills of the queue manager and its brokers",
        commands=(("tests.soak", "kills", "--brokers", "1"),),
        short=("tests/soak/test_soak.py", "tests/acceptance/test_copier.py"),
    ),
    "soak-brokers": Part(
        shows="the same on three brokers, of which any is killed",
        commands=(("tests.soak", "kills", "--kills", "100", "--brokers", "3"),),
        short=("tests/soak/test_soak.py",),
    ),
    "network": Part(
        shows="messages both ways between two queue managers of which either is killed 50 times",
        commands=(("tests.soak", "network"),),
        short=("tests/integration/test_network_killed.py",),
    ),
    "away": Part(
        shows="Kafka away for a minute under load, and a crowd of connections",
        commands=(("tests.soak", "away"),),
        short=("tests/integration/test_kafka_paused.py", "tests/integration/test_bad_clients.py"),
    ),
    "drivers": Part(
        shows="Spark's batches once and in order through kills of the driver",
        commands=(tests("killed_drivers"), ("tests.soak", "spark")),
        short=("tests/spark/test_exactly_once.py", "tests/spark/test_getting.py"),
    ),
    "spark-releases": Part(
        shows="queues with each release of Spark 4 that they were tried with",
        commands=(tests("spark_releases"),),
        short=("tests/spark/test_parts.py",),
    ),
    "spark-submit": Part(
        shows="jobs by `mqk spark` and by spark-submit, with the connectors and without",
        commands=(tests("spark_submit"),),
        short=("tests/spark/test_jobs.py",),
    ),
    "brokers": Part(
        shows="brokers that are killed, frozen, full, or whose clock jumps: nothing lost or twice",
        commands=(
            tests("broker_trouble", "feeds_brokers", "movers_open_lanes", "exports_hidden"),
            tests("exports_proof"),
        ),
        short=(
            "tests/integration/test_kafka_paused.py",
            "tests/integration/test_movers_killed.py",
            "tests/integration/test_exports_disturbed.py",
            "tests/integration/test_feeds.py",
            "tests/unit/storage/movers/test_open_progress.py",
        ),
    ),
    "benchmarks": Part(
        shows="every benchmark runs, and what it judges holds",
        commands=(tests("benchmarks"),),
        short=("tests/integration/test_benchmarks.py",),
    ),
    "states": Part(
        shows="random work on objects of all kinds: after each step all is counted again",
        commands=(
            ("tests.simulation", "states", "1-400"),
            ("tests.simulation", "conversations", "1-200"),
        ),
        short=("tests/simulation/test_states.py", "tests/simulation/test_conversations.py"),
    ),
    "interrupts": Part(
        shows="an exception at every line, or a cancellation at every wait, of channel and client "
        "leaves a connection whole or lost",
        commands=(
            ("tests.unit.connection.channel.test_channel_interrupts",),
            ("tests.unit.aio.test_channel_cancels",),
        ),
        short=(
            "tests/unit/connection/channel/test_channel_interrupts.py",
            "tests/unit/aio/test_channel_cancels.py",
        ),
    ),
    "costs": Part(
        shows="no input that a search of a minute finds costs more than a constant and its length",
        commands=(("tests.costs", "60"),),
        short=("tests/costs/test_costs.py",),
    ),
    "avro": Part(
        shows="1,000 random pairs of schemas: Java and we make the same of a value",
        commands=(
            long("tests/spark/test_values_resolved.py", "tests/unit/registry/test_resolution.py"),
        ),
        short=("tests/spark/test_values_resolved.py", "tests/unit/registry/test_resolution.py"),
    ),
    "examples": Part(
        shows="what generating tests draw, ten times as often",
        commands=(long(*GENERATING),),
        short=GENERATING,
    ),
    "stopped": Part(
        shows="exports whose queue manager dies or stands still at each of its steps",
        commands=(long("tests/integration/test_exports_stopped.py"),),
        short=("tests/integration/test_exports_stopped.py",),
    ),
    "apicurio": Part(
        shows="Apicurio Registry keeps the contract of ours, but for the differences that are told",
        commands=(tests("apicurio"),),
        short=("tests/contract/test_registry.py",),
    ),
    "demo": Part(
        shows="the demo with and without a standby, ended by each signal",
        commands=(long("tests/acceptance/test_demo.py"),),
        short=("tests/acceptance/test_demo.py",),
    ),
    "transcripts": Part(
        shows="every transcript has on a real Kafka the outcomes that it has in memory",
        commands=(long("tests/integration/test_scenarios.py"),),
        short=("tests/integration/test_scenarios.py",),
    ),
    "cases": Part(
        shows="all cases of tests of which a run tries some: wheels of ibmmq, exports, Spark",
        commands=(long(*CASES),),
        short=CASES,
    ),
    "pages": Part(
        shows="every code block of every page works as it is written",
        commands=(long("tests/pages/test_pages.py"),),
        short=("tests/pages/test_pages.py",),
    ),
    "movers": Part(
        shows="movers that are killed in a transaction, and a worker before each of its lines",
        commands=(
            long("tests/integration/test_movers_killed.py", "tests/acceptance/test_balance.py"),
        ),
        short=("tests/integration/test_movers_killed.py", "tests/acceptance/test_balance.py"),
    ),
    "hand-overs": Part(
        shows="ten of each end of an owner, beside snapshots and trims: nothing lost or twice",
        commands=(long("tests/integration/test_two_hosts.py"),),
        short=("tests/integration/test_two_hosts.py",),
    ),
    "simulation": Part(
        shows="seeds of every part of the simulation that no other run has tried",
        commands=(("tests.kills.seeds",),),
        short=("tests/simulation/test_simulation.py", "tests/simulation/test_machines.py"),
    ),
    "mutants": Part(
        shows="each rule of core that is switched off turns a test red",
        commands=(("tests.mutation",),),
        short=("tests/mutation/test_mutants.py",),
    ),
    "bugs": Part(
        shows="each planted bug is found by the simulation, a machine or a search",
        commands=(long("tests/simulation/test_bugs.py"),),
        short=("tests/simulation/test_bugs.py",),
    ),
    "compiled": Part(
        shows="every test of a room with compiled modules passes on them",
        commands=(
            ("native",),
            (*PYTEST, "-o", f"pythonpath={COMPILED} . adapter/toplevel", *COMPILED_ROOMS),
        ),
        needs="cc",
        short=("tests/golden/test_golden.py", "tests/scenarios/test_transcripts.py"),
    ),
    "compiled-bugs": Part(
        shows="the planted bugs of the simulation are found on compiled modules",
        commands=(("tests.compiled.bugs",),),
        needs="cc",
        short=("tests/simulation/test_bugs.py",),
    ),
    "wheels": Part(
        shows="the wheels that are published can be installed and run",
        commands=(("native.wheels",),),
        needs="cc",
        short=("tests/acceptance/test_wheel.py", "tests/acceptance/test_client_wheel.py"),
    ),
}
