"""Spark's driver, killed at random places and at random moments between them.

The short form is tests/kills/test_killed_drivers.py; what the driver does is tests/spark/driver.py.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from tests.soak.abuse import Say, place
from tests.spark import driver, lives

BATCHES_A_KILL = 4
LATER_S = 1.0
"""About as long as a batch takes."""
STEPS = (("archive", ("read", "files", "queue")), ("get", ("read", "files")))


def drivers(kills: int, seed: int, say: Say) -> None:
    """Kill a driver so often while it archives and takes messages: each is done once, in order."""
    chance = random.Random(seed)
    batches = (kills + 2) * BATCHES_A_KILL
    with place("DRIVERS") as (kafka, server), tempfile.TemporaryDirectory() as folder:
        scene = lives.Scene(kafka.bootstrap_servers, "DRIVERS", server.address, Path(folder))
        filled = lives.fill(
            scene,
            batches * driver.ARCHIVED_A_BATCH // lives.UNIT,
            batches * driver.TAKEN_A_BATCH // lives.UNIT,
        )
        for number, stops in enumerate(places(kills, chance), 1):
            later_s = 0.0 if number % 2 else chance.uniform(0, LATER_S)
            lives.kill_at(scene, *stops, later_s=later_s)
            say(f"{number} of {kills} drivers killed, {later_s:.1f} s behind {', '.join(stops)}")
        assert lives.finish(scene) == ("", "")
        done = lives.check(scene, filled)
    say(
        f"{len(filled.archived):,} messages archived and written back in {done['archive']} "
        f"batches, {len(filled.taken):,} taken in {done['get']}, each once and in order, through "
        f"{kills} kills of the driver"
    )


def places(kills: int, chance: random.Random) -> list[list[str]]:
    """Where both queries are, kill by kill, each time some batches further on."""
    found = []
    for first in range(0, kills * BATCHES_A_KILL, BATCHES_A_KILL):
        batches = range(first, first + BATCHES_A_KILL)
        found.append([f"{name}.{chance.choice(batches)}.{chance.choice(of)}" for name, of in STEPS])
    return found
