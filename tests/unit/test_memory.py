"""Memory of long blocks goes back when they are freed."""

import subprocess

from adapter import launch

PROGRAM = """
from pathlib import Path
from adapter import memory
assert memory.give_back_long_blocks()
MIB = 1024 * 1024
def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
for _time in range(3):
    long = [bytearray(size * MIB) for size in (2, 8, 30)]
    for one in long:
        one[::4096] = b"x" * len(one[::4096])
    del long, one
before = rss()
kept, freed = [], []
for _block in range(100):
    freed.append(bytearray(2 * MIB))
    freed[-1][::4096] = b"x" * 512
    kept.append(bytearray(64 * 1024))
del freed
print(max(0, rss() - before) // MIB)
"""


def test_freed_blocks_are_not_kept_between_others() -> None:
    """200 MiB in blocks with something that stays behind each: without it, they stay all."""
    done = subprocess.run(
        launch.python("-c", PROGRAM), stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert int(done.stdout) < 20
