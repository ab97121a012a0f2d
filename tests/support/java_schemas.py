"""Apache Avro for Java, of the release that Spark brings, for comparison."""

import importlib.util
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapter.localkafka.jars import find_java

PROGRAM = Path(__file__).parent / "java" / "Schemas.java"
WITHIN_S = 100.0


def forms_of_java(texts: Sequence[str]) -> list[Any]:
    """Return what Schema.toString() makes of each, as JSON has it; None of what it refuses."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    jars = Path(found.origin).parent / "jars" / "*"
    done = subprocess.run(
        [find_java().path, "-cp", str(jars), str(PROGRAM)],
        input="".join(f"{json.dumps(text)}\n" for text in texts).encode(),
        capture_output=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(answers) == len(texts)
    return [None if answer is None else json.loads(answer) for answer in answers]
