"""How long programs wait when an owner fails, its machine is frozen, or it hands over.

A program puts message after message, one unit each, at two addresses: an owner's and its
standby's. Something is broken while it does so, and the longest time between two answers is the
*gap*. Then what was broken is started again, as the next standby, until there are enough trials. In
the end the program compares what is on its queue with what it was told (benchmarks/numbered.py).

The gap has three parts, as the standby's log tells them: until it *notices*, until it has *taken
over*, and until the program is *back*. They are of the processes' clocks, which are one clock here.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

import adapter
from benchmarks.numbered import Judgement, NumberedProgram, PuttingProgram
from benchmarks.results import Row, Rows, percentile, show
from benchmarks.stack import HERE, Running, caught_up_s

ABOUT = "gaps that programs see when an owner or its machine fails, or hands over"
TRIALS = 10
WAITING = 20_000
QUEUES_WAITING = 10
FREEZE_HEARTBEAT_MS = 1000
WAIT_S = 60.0
LOOK_S = 0.01
NEARLY = 500
"""About as many records are written under load between two reports of a standby."""
NOTICED, TAKEN_OVER = "owner replaced", "ledger taken over"


class Parts(Struct, frozen=True):
    """The parts of one gap, in seconds."""

    notice_s: float
    take_over_s: float
    back_s: float


class Place(Struct, frozen=True):
    """Where a process runs. prefix: a command that runs others there."""

    host: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()


Places = tuple[Place, Place]
HERE_BOTH: Places = (Place(), Place())


class Pair:
    """An owner and its standby, each at an address of its own through all lives."""

    def __init__(
        self,
        bootstrap: str,
        name: str,
        folder: Path,
        settings: Mapping[str, object] = {},
        places: Places = HERE_BOTH,
    ) -> None:
        def run(place: Place, log: Path, **further: object) -> Running:
            code = structs.replace(HERE, prefix=place.prefix)
            told = {**settings, "host": place.host, **further}
            return Running(bootstrap, name, code=code, settings=told, log=log)

        self._own_log, self.standby_log = (folder / f"{name}-{one}.log" for one in (1, 2))
        self.owner = run(places[0], self._own_log)
        try:
            self.standby = run(places[1], self.standby_log, standby=True)
        except BaseException:
            self.owner.kill()
            raise
        self.addresses = f"{self.owner.address},{self.standby.address}"

    def change_places(self) -> None:
        """Start what was the owner as the standby of what was its standby."""
        self.owner.await_end()
        self._swap()
        self.standby.stand_by()

    def await_change(self) -> None:
        """Wait until what was the owner has gone on as the standby of what was its standby."""
        self._swap()
        self.await_standby()

    def await_standby(self) -> None:
        """Wait until the standby has applied what the owner has written. One that has just been
        started has not, and takes over when it has.
        """
        deadline_s = time.monotonic() + WAIT_S
        with adapter.connect(self.owner.address) as qm:
            while not any(one["lag_records"] < NEARLY for one in qm.figures()["standbys"].values()):
                if time.monotonic() > deadline_s:
                    raise RuntimeError(f"no standby is up to date in {WAIT_S:.0f} s")
                time.sleep(LOOK_S)

    def _swap(self) -> None:
        self.owner, self.standby = self.standby, self.owner
        self._own_log, self.standby_log = self.standby_log, self._own_log

    def stop(self) -> None:
        """End both, as crashes do: one may be frozen when a trial has failed."""
        self.standby.kill()
        self.owner.kill()


class Fault(Struct, frozen=True):
    """Something that fails. strike: break it; mend: bring back what was broken.

    limit_s: what 99 of 100 gaps are to be at most. settings: of the queue manager. full: many
    messages wait on other queues. programs: how many put at once. fails_none: no unit is to fail.
    """

    name: str
    strike: Callable[[Pair], None]
    mend: Callable[[Pair], None]
    limit_s: float
    settings: Mapping[str, object] = {}
    full: bool = False
    programs: int = 1
    fails_none: bool = False


def hand_over(pair: Pair) -> None:
    """Tell the owner to stop, and let its standby take over."""
    with adapter.connect(pair.owner.address, reconnect_timeout_s=0.0) as qm:
        qm.stop_queue_manager(hand_over=True)


def switch(pair: Pair) -> None:
    """Tell the owner to switch to its standby, and to stand by itself."""
    with adapter.connect(pair.owner.address, reconnect_timeout_s=0.0) as qm:
        qm.switch_queue_manager()


def kill(pair: Pair) -> None:
    """SIGKILL to the owner."""
    os.kill(pair.owner.pid, signal.SIGKILL)


def freeze(pair: Pair) -> None:
    """SIGSTOP to the owner, as when its machine is frozen: connections stay open."""
    os.kill(pair.owner.pid, signal.SIGSTOP)


def thaw(pair: Pair) -> None:
    """Let the frozen owner find out that it was replaced."""
    os.kill(pair.owner.pid, signal.SIGCONT)
    pair.change_places()


FAULTS = {
    "hand-over": Fault(
        "planned hand-over, 4 programs", hand_over, Pair.change_places, 0.5, programs=4
    ),
    "switch": Fault(
        "planned switch, 4 programs", switch, Pair.await_change, 0.5, programs=4, fails_none=True
    ),
    "kill": Fault("SIGKILL of the owner", kill, Pair.change_places, 1.0),
    "kill-full": Fault(
        "the same, with messages on 10 other queues", kill, Pair.change_places, 1.2, full=True
    ),
    "freeze": Fault(
        f"SIGSTOP of the owner, heartbeat {FREEZE_HEARTBEAT_MS} ms", freeze, thaw, 3.0,
        {"heartbeat_ms": FREEZE_HEARTBEAT_MS},
    ),
}  # fmt: skip


class Trials(Struct):
    """What the trials of one fault have found.

    failed: units that were backed out, or in doubt. plain_s: the gaps of a plain producer of Kafka
    in the same trials, if one ran.
    """

    gaps_s: list[float] = []
    parts: list[Parts] = []
    judgement: Judgement = Judgement()
    failed: int = 0
    plain_s: list[float] = []


class LogTail:
    """What a queue manager logs from now on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin = path.stat().st_size

    def await_event(self, event: str) -> None:
        """Wait until it has logged this."""
        deadline_s = time.monotonic() + WAIT_S
        while event not in self.moments():
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{self._path.name}: no {event!r} in {WAIT_S:.0f} s")
            time.sleep(LOOK_S)

    def moments(self) -> dict[str, float]:
        """When each event was logged last, by time.time()."""
        with self._path.open("rb") as file:
            file.seek(self._begin)
            whole, _, _ = file.read().rpartition(b"\n")
        lines = [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")]
        return {one["event"]: datetime.fromisoformat(one["timestamp"]).timestamp() for one in lines}


def measure(
    bootstrap: str, trials: int = TRIALS, waiting: int = WAITING, faults: Sequence[str] = ()
) -> Rows:
    """Break each thing so many times.

    waiting: messages on each of ten other queues, where they are to be full. faults: all, if none
    is named.
    """
    rows: Rows = {}
    found: dict[str, Trials] = {}
    with tempfile.TemporaryDirectory(prefix="failover-") as folder:
        for number, key in enumerate(faults or FAULTS):
            fault = FAULTS[key]
            with pair_of(bootstrap, f"FAIL{number}", Path(folder), fault, waiting) as pair:
                found[key] = try_fault(pair, fault, trials)
            rows |= rows_of(key, fault.name, fault.limit_s, found[key])
            rows[f"{key}-failed"].none = fault.fails_none
            show(rows, f"after {trials} times {fault.name}")
    if "kill" in rows and "kill-full" in rows:
        rows["kill-full"].against, rows["kill-full"].at_most = "kill", 1.2
    tell({key: FAULTS[key].name for key in found}, found)
    return rows


@contextmanager
def pair_of(
    bootstrap: str, name: str, folder: Path, fault: Fault, waiting: int, places: Places = HERE_BOTH
) -> Iterator[Pair]:
    """Run an owner and a standby of a queue manager."""
    pair = Pair(bootstrap, name, folder, fault.settings, places)
    try:
        if fault.full:
            fill(pair, waiting)
        yield pair
    finally:
        pair.stop()


def fill(pair: Pair, waiting: int) -> None:
    """Put messages to ten queues, and wait until they are copied."""
    with adapter.connect(pair.owner.address) as qm:
        for number in range(QUEUES_WAITING):
            qm.define_queue(f"WAITING.{number}", max_depth=999_999_999)
            with qm.queue(f"WAITING.{number}") as queue:
                queue.put_many((bytes(200) for _ in range(waiting)), unit_size=500)
    caught_up_s(pair.owner.address)


def try_fault(pair: Pair, fault: Fault, trials: int) -> Trials:
    """Break one thing again and again while programs put."""
    found = Trials()
    queues = [f"Q{number}" for number in range(fault.programs)]
    with programs_at(pair.addresses, queues, found) as programs:
        for _ in range(trials):
            pair.await_standby()
            steady(programs)
            log = LogTail(pair.standby_log)
            struck_s, offset_s = time.monotonic(), time.time() - time.monotonic()
            fault.strike(pair)
            log.await_event(TAKEN_OVER)
            found.gaps_s.append(await_back(programs, struck_s))
            moments = {event: at_s - offset_s for event, at_s in log.moments().items()}
            noticed_s, taken_s = moments[NOTICED], moments[TAKEN_OVER]
            back_s = max(program.first_after(taken_s) for program in programs) - taken_s
            found.parts.append(Parts(noticed_s - struck_s, taken_s - noticed_s, back_s))
            fault.mend(pair)
    return found


@contextmanager
def programs_at(
    addresses: str, queues: Sequence[str], found: Trials
) -> Iterator[list[NumberedProgram]]:
    """Run a program for each queue; at the end they say what was wrong."""
    programs = [NumberedProgram(addresses, queue) for queue in queues]
    for program in programs:
        program.start()
    yield programs
    for program in programs:
        found.judgement += program.end()
        found.failed += program.failed


def steady(programs: Sequence[PuttingProgram]) -> None:
    """Wait until all have put for a while."""
    for program in programs:
        program.await_more()
        program.forget()


def await_back(programs: Sequence[PuttingProgram], struck_s: float) -> float:
    """Wait until all are answered again; return how long the one waited that waited longest."""
    for program in programs:
        program.await_more()
    return max(program.gap_s(struck_s) for program in programs)


# What is told.


def rows_of(key: str, name: str, limit_s: float, found: Trials) -> Rows:
    """The figures of one fault."""
    rows = {key: Row(f"{name}: gap", "s", runs=found.gaps_s, worst=limit_s)}
    for part in Parts.__struct_fields__ if found.parts else ():
        runs = [getattr(one, part) for one in found.parts]
        rows[f"{key}-{part.removesuffix('_s')}"] = Row(f"{name}: {WORDS[part]}", "s", runs=runs)
    wrong = sum(getattr(found.judgement, field) for field in Judgement.__struct_fields__)
    rows[f"{key}-wrong"] = Row(f"{name}: messages that are wrong", "", runs=[wrong], none=True)
    rows[f"{key}-failed"] = Row(f"{name}: units that failed", "", runs=[found.failed])
    if found.plain_s:
        rows[f"{key}-plain"] = Row(f"{name}: gap of a plain producer", "s", runs=found.plain_s)
    return rows


HEADINGS = (
    "what fails",
    "trials",
    "gap, s: p50, p99, most",
    "noticed, taken over, back: p50",
    "lost, doubled, reordered, unknown",
    "failed units",
    "gap of a plain producer, s: p50, p99, most",
)
WORDS = {
    "notice_s": "until it is noticed",
    "take_over_s": "the take-over",
    "back_s": "until the program is back",
}


def tell(names: Mapping[str, str], found: Mapping[str, Trials]) -> None:
    """Print a table of Markdown."""
    print(f"\n{table(names, found)}", file=sys.stderr, flush=True)


def table(names: Mapping[str, str], found: Mapping[str, Trials]) -> str:
    """The figures as a table of Markdown: gaps, the medians of their parts, and what was wrong."""
    lines = [
        f"| {' | '.join(HEADINGS)} |",
        f"|{'---|' * len(HEADINGS)}",
    ]
    for key, trials in found.items():
        parts = [
            f"{statistics.median(getattr(one, part) for one in trials.parts):.2f}"
            for part in (Parts.__struct_fields__ if trials.parts else ())
        ]
        wrong = ", ".join(
            str(getattr(trials.judgement, one)) for one in Judgement.__struct_fields__
        )
        figures = (
            len(trials.gaps_s),
            spread(trials.gaps_s),
            ", ".join(parts),
            wrong,
            trials.failed,
            spread(trials.plain_s),
        )
        lines.append(f"| {names[key]} | {' | '.join(map(str, figures))} |")
    return "\n".join(lines)


def spread(gaps_s: Sequence[float]) -> str:
    """Median, 99th percentile and the longest; "" of none."""
    if not gaps_s:
        return ""
    return f"{statistics.median(gaps_s):.2f}, {percentile(gaps_s, 99):.2f}, {max(gaps_s):.2f}"
