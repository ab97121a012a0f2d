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


BURST = """
import gc
from pathlib import Path
from adapter import memory
gc.set_threshold(100_000)
memory.give_back_long_blocks()
burst = memory.Burst()
def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // (1024 * 1024)
messages = [((n, n, n), bytes(200)) for n in range(100_000)]
before = rss()
messages.clear()
def looks(freed):
    return sum(burst.look(freed) for _ in range(3 * memory.CALM_LOOKS))
assert not burst.look(50_000) and not burst.look(100_000), "it goes on"
steady = [freed for freed in range(50_000, 100_001, 1_000) for _ in range(5)]
assert not any(burst.look(freed) for freed in steady), "in portions"
assert looks(100_000) == 1, "once"
assert looks(104_999) == 0, "few"
print(before - rss())
"""


def test_memory_of_a_burst_goes_back_when_it_is_over() -> None:
    done = subprocess.run(
        launch.python("-c", BURST), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20, "MiB"
