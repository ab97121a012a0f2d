"""One run of the demo, from the first message to the verdict.

It tells the story in order; the stage, the screen and the checker do the work.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from adapter.host import launch
from adapter.localkafka import LocalKafka
from mqk_demo import checker, flights, queues
from mqk_demo.errors import DemoError
from mqk_demo.outcome import Outcome
from mqk_demo.screen import Screen
from mqk_demo.stage import Depths, Restart, Stage

LOOK_S = 0.1
LOOK_CLOSELY_S = 0.01
SHORT_RUN = 20_000
"""Flights that may be handled before half of them is seen: the answers are held without a look."""
STALL_S = 60.0
"""Nothing moves for so long: it never will."""
CHECK_TIMEOUT_S = 600.0

FAULTS = ("lost", "duplicated", "out_of_order")
OTHER_FAULTS = tuple(kind for kind in checker.KINDS if kind not in FAULTS)


def run(count: int, screen: Screen, chart: Path | None = None, *, standby: bool = False) -> Outcome:
    """Run the demo with the first so many flights; DemoError if it cannot be run to its end.

    chart: where a Spark job on the queue of results draws the delays, if that is wanted. standby:
    another process takes over when the queue manager is killed.
    """
    began_s = time.monotonic()
    archive = flights.fetch(screen.say)
    lines = flights.load(archive, count)
    with tempfile.TemporaryDirectory(prefix="mqk-demo-") as folder:
        screen.say("starting Kafka")
        with LocalKafka(say=screen.say) as kafka:
            with Stage(kafka, Path(folder), standby=standby) as stage:
                played = play(stage, archive, len(lines), screen)
                played["left"] = settle(stage, len(lines), screen)
            screen.say("checking the topics with a program that shares no code with us")
            report = check(kafka.bootstrap_servers, archive, len(lines), screen)
            if chart is not None:
                screen.say("Spark reads the queue of results, and draws the delays")
                draw(kafka.bootstrap_servers, Path(folder) / "delays", chart)
    elapsed_s = time.monotonic() - began_s
    played["back_by"] = "take-over" if standby else "restart"
    return judge(lines, report, played, elapsed_s)


def draw(servers: str, folder: Path, chart: Path) -> None:
    """Run the job `flights` on the queue that has just been filled."""
    command = launch.python(
        "-m", "adapter.cli", "spark", "flights", folder, "--chart", chart,
        "--queue", queues.DONE, "--queue-manager", queues.QUEUE_MANAGER, "--available-now",
        "--messages-a-batch", "0", "--bootstrap-server", servers,
    )  # fmt: skip
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=CHECK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as problem:
        raise DemoError(f"Spark was not done after {CHECK_TIMEOUT_S:.0f} s") from problem
    if done.returncode != 0:
        raise DemoError(f"the chart of the delays was not drawn: {done.stderr.strip()}")


def play(stage: Stage, archive: Path, count: int, screen: Screen) -> dict[str, Any]:
    """Put and handle all flights, with a kill in the middle."""
    stage.open()
    modules = stage.qm.figures()["compiled_modules"]
    code = f"{modules} compiled modules" if modules else "pure Python"
    screen.say(f"queue manager {queues.QUEUE_MANAGER} serves at {stage.address}, in {code}")
    if count <= SHORT_RUN:
        stage.hold_half_way(count)
    stage.begin(archive, count)
    screen.say(f"a producer and two workers begin: {count:,} flights")
    began_s = time.monotonic()
    handle(stage, count, count // 2, screen)
    screen.say("half way: holding the answers to commits, then SIGKILL to the queue manager")
    restart = stage.kill_and_restart()
    screen.say(describe(restart))
    handle(stage, count, count, screen)
    handled_s = time.monotonic() - began_s
    figures = stage.end()
    return {
        "restart": restart,
        "units_lost": figures["lost"],
        "units_failed": figures["failed"] - figures["lost"],
        "put_per_s": count / max(figures["seconds"], 0.001),
        "handled_per_s": count / handled_s,
    }


def describe(restart: Restart) -> str:
    """The kill in words."""
    return (
        f"it was killed with {restart.commits_held} commits done but unanswered, and serves again "
        f"after {restart.seconds:.2f} s"
    )


def handle(stage: Stage, count: int, until: int, screen: Screen) -> None:
    """Watch until so many flights are handled; all of them: until nothing is open either.

    Fewer than all: or until the answers to commits are held.
    """
    look_s = LOOK_CLOSELY_S if count <= SHORT_RUN else LOOK_S
    moved_s, before = time.monotonic(), None
    while True:
        depths = stage.depths()
        put = count if stage.is_all_put else min(count, depths.waiting + depths.handled)
        screen.show("put", put, count)
        screen.show("done or backed out", min(count, depths.handled), count)
        if until < count and stage.is_holding:
            return
        if depths.handled >= until and (until < count or is_over(stage, depths)):
            return
        if depths != before:
            moved_s, before = time.monotonic(), depths
        if time.monotonic() - moved_s > STALL_S:
            raise DemoError(
                f"nothing has moved for {STALL_S:.0f} s: {depths.waiting:,} flights wait, "
                f"{depths.done:,} are done, {depths.backed_out:,} backed out. The trigger monitor "
                f"said:\n{stage.said()}"
            )
        time.sleep(look_s)


def is_over(stage: Stage, depths: Depths) -> bool:
    """Whether everything is put and no unit holds anything."""
    return stage.is_all_put and not depths.open


def settle(stage: Stage, count: int, screen: Screen) -> int:
    """Wait until the mover has copied everything, stop the queue manager; what is left on IN."""
    left = stage.depths().waiting
    moved_s, before = time.monotonic(), -1
    while (copied := stage.copies()) < 2 * count and time.monotonic() - moved_s < STALL_S:
        screen.show("copied to the topics", copied, 2 * count)
        if copied != before:
            moved_s, before = time.monotonic(), copied
        time.sleep(LOOK_S)
    screen.show("copied to the topics", copied, 2 * count)
    stage.close_manager()
    return left


def check(servers: str, archive: Path, count: int, screen: Screen) -> dict[str, Any]:
    """Run the checker and return its report."""
    command = launch.python(
        checker.__file__, "--bootstrap-server", servers, "--archive", archive,
        "--flights", str(count), "--queue-manager", queues.QUEUE_MANAGER, "--json",
    )  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            report = follow(process, count, screen)
            _, said = process.communicate(timeout=CHECK_TIMEOUT_S)
        except BaseException:
            process.kill()
            raise
    if report is None:
        raise DemoError(f"the checker ended with status {process.returncode}: {said.strip()}")
    return report


def follow(process: subprocess.Popen[str], count: int, screen: Screen) -> dict[str, Any] | None:
    """Read what the checker tells while it works; its last word is the report."""
    assert process.stdout is not None, "a pipe was asked for"
    for line in process.stdout:
        told: dict[str, Any] = msgspec.json.decode(line)
        if "ok" in told:
            screen.show("checked", 2 * count, 2 * count)
            return told
        screen.show("checked", told["read"], 2 * count)
    return None


def judge(
    lines: list[str], report: dict[str, Any], played: dict[str, Any], elapsed_s: float
) -> Outcome:
    """Put the figures together."""
    restart: Restart = played["restart"]
    return Outcome(
        flights=len(lines),
        never_departed=sum(not flights.flight_of(line).departed for line in lines),
        put=report["in"],
        done=report["done"],
        backed_out=report["backout"],
        left=played["left"],
        lost=report["lost"],
        duplicated=report["duplicated"],
        out_of_order=report["out_of_order"],
        other_faults=sum(report[kind] for kind in OTHER_FAULTS),
        commits_unanswered=restart.commits_held,
        units_lost=int(played["units_lost"]),
        units_failed=int(played["units_failed"]),
        put_per_s=played["put_per_s"],
        handled_per_s=played["handled_per_s"],
        back_by=played["back_by"],
        restart_s=restart.seconds,
        elapsed_s=elapsed_s,
        examples=report["examples"],
    )
