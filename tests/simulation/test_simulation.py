"""Seeded random work under every fault there is a name for, on the production code.

A seed that is broken is broken again: `python -m tests.simulation SEED`, with `--trace` to read.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.faults import FAULTS, GONE
from tests.simulation.programs import AHEAD_FROM, MOVES_FROM
from tests.simulation.simulation import Simulation
from tests.simulation.standbys import STANDBYS_FROM
from tests.simulation.storage import topic_of

TOP = Path(__file__).parents[2]
SEEDS = (1, 35)
LATER_SEEDS = [f"{first}-{first + 7}" for first in (MOVES_FROM, AHEAD_FROM, STANDBYS_FROM)]
"""Of everything: with messages that are moved, with units ahead, and with standbys."""
SELDOM = ("messages", "52")
"""What meets a fault that no other of these seeds meets. `make kills` tries seeds for minutes."""
TIMEOUT_S = 600.0
SLOW = """
import time

real = time.monotonic
time.monotonic = lambda: real() * 1_000
"""
"""A machine on which everything takes a thousand times as long."""


def started(
    *arguments: str, hash_seed: int = 0, folder: Path | None = None
) -> subprocess.Popen[str]:
    """Run seeds in a process of its own: there are two cores. folder: of its sitecustomize."""
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    beside = {} if folder is None else {"PYTHONPATH": str(folder)}
    return subprocess.Popen(
        command,
        cwd=TOP,
        env={**os.environ, **beside, "PYTHONHASHSEED": str(hash_seed)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    """What a process printed when it found nothing broken."""
    try:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    assert process.returncode == 0, output
    return output


@pytest.mark.timeout(2 * TIMEOUT_S)
def test_no_seed_is_broken_and_every_fault_is_met() -> None:
    first, last = SEEDS
    middle = (first + last) // 2
    parts = [started(f"{first}-{middle}"), started(f"{middle + 1}-{last}")]
    parts += [started("everything", *LATER_SEEDS), started(*SELDOM)]
    met: Counter[str] = Counter()
    for output in map(said, parts):
        met.update(json.loads(output))
    assert {fault for fault in FAULTS if not met[fault]} == set()
    assert set(met) == set(FAULTS), "a fault was met that has no name"


def test_a_seed_reproduces_a_run(tmp_path: Path) -> None:
    """All that was decided, answered and copied, whatever Python's own chance is, and however slow
    the machine."""
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    one = started("7", "--trace", hash_seed=1)
    other = started("7", "--trace", hash_seed=2, folder=tmp_path)
    trace = said(one)
    assert trace == said(other)
    assert trace.count("\n") > 1_000


def test_a_topic_that_was_never_made_has_lost_nothing() -> None:
    """Its mover could not create it, nor commit that it is parked, and asked again from before."""
    said(started("everything", "339"))


@pytest.mark.parametrize("seed", [23, 33])
def test_two_topics_that_go_at_once_are_both_parked(seed: int) -> None:
    """Each is found out in a transaction of its own: the first must not be forgotten meanwhile."""
    simulation = Simulation(seed, loses_topics=True)
    with simulation.installed():
        simulation.work(200)
        for queue in ("A", "B"):
            simulation.spoil(topic_of(queue, 0), GONE)
        simulation.work(200)
        simulation.come_to_rest()
