"""Java and Maven: found, too old, missing, failing; and where the jars go."""

import shutil
from pathlib import Path

import pytest

from adapter.localkafka import LocalKafkaError, jars


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing in it, and an empty cache."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("MQK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return programs


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("command not found", None),
    ],
)
def test_versions_are_read(printed: str, version: int | None) -> None:
    assert jars.java_version(printed) == version


def test_a_new_enough_java_is_found(bare: Path) -> None:
    program(bare, "java", "echo 'openjdk version \"17.0.1\"' >&2")
    assert jars.find_java().path == str(bare / "java")


def test_another_java_has_another_identity(bare: Path) -> None:
    seen = set()
    for version in ("17.0.1", "17.0.2", "17.0.1"):
        program(bare, "java", f"echo 'openjdk version \"{version}\"' >&2")
        seen.add(jars.find_java().identity)
    assert len(seen) == 2


def test_options_in_the_environment_do_not_make_it_another_java(bare: Path) -> None:
    version = "echo 'openjdk version \"17.0.1\"' >&2"
    notes = (
        "echo 'NOTE: Picked up JDK_JAVA_OPTIONS: -Xmx1g' >&2",
        "echo 'Picked up JAVA_TOOL_OPTIONS: -Dversion=\"11.0.1\"' >&2",
    )
    program(bare, "java", version)
    plain = jars.find_java()
    program(bare, "java", "\n".join((*notes, version)))
    assert jars.find_java() == plain


def test_java_home_comes_first(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    program(home / "bin", "java", "echo 'openjdk version \"21.0.1\"' >&2")
    program(bare, "java", "echo 'openjdk version \"11.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert jars.find_java().path == str(home / "bin" / "java")


def test_no_java(bare: Path) -> None:
    with pytest.raises(LocalKafkaError, match=r"java is not in PATH: install Java 17 or later"):
        jars.find_java()


def test_a_java_home_without_java(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(LocalKafkaError, match="java is not in JAVA_HOME=/nowhere"):
        jars.find_java()


def test_an_old_java(bare: Path) -> None:
    program(bare, "java", "echo 'openjdk version \"11.0.2\"' >&2")
    with pytest.raises(LocalKafkaError, match=r"Java 11, too old for Kafka 4\.\d+\.\d+"):
        jars.find_java()


def test_no_maven(bare: Path) -> None:
    with pytest.raises(LocalKafkaError, match="mvn is not in PATH: install Maven"):
        jars.resolve_jars(jars.say_nothing)
    assert not jars.jars_folder().exists()


def test_a_maven_that_fails_is_quoted_and_leaves_nothing(bare: Path) -> None:
    program(bare, "mvn", "echo 'Could not transfer artifact'; exit 1")
    with pytest.raises(LocalKafkaError, match=r"exit status 1(.|\n)*Could not transfer artifact"):
        jars.resolve_jars(jars.say_nothing)
    assert [path.name for path in jars.cache_folder().iterdir()] == ["filling.lock"]


def test_jars_are_fetched_once(bare: Path) -> None:
    mkdir, touch = shutil.which("mkdir", path="/usr/bin:/bin"), shutil.which("touch", path="/bin")
    find = "for a; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done"
    program(bare, "mvn", f"{find}; {mkdir} -p $d && {touch} $d/kafka.jar")
    said: list[str] = []
    folder = jars.resolve_jars(said.append)
    assert [path.name for path in folder.iterdir()] == ["kafka.jar"]
    (bare / "mvn").unlink()
    assert jars.resolve_jars(said.append) == folder
    assert len(said) == 1
    assert jars.kafka_version() in said[0]


def test_the_folder_follows_the_pom(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = jars.jars_folder()
    pom = tmp_path / "pom.xml"
    pom.write_text(jars.POM.read_text() + "<!-- another -->\n")
    monkeypatch.setattr(jars, "POM", pom)
    assert jars.jars_folder() != before
    assert jars.jars_folder().parent == before.parent


def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQK_CACHE_DIR", "/chosen")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert jars.cache_folder() == Path("/chosen")
    monkeypatch.delenv("MQK_CACHE_DIR")
    assert jars.cache_folder() == Path("/xdg/mqk")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert jars.cache_folder() == tmp_path / ".cache" / "mqk"
