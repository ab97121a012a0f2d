"""How shared options are written on the command line."""

from pathlib import Path

import click
import pytest

from adapter.command import options

CONTEXT = click.Context(click.Command("x"))
OPTION = click.Option(["--x"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:1414", ("127.0.0.1", 1414)),
        ("localhost", ("localhost", 1414)),
        ("[::1]:0", ("::1", 0)),
        ("[::1]", ("::1", 1414)),
    ],
)
def test_an_address_is_host_and_port(text: str, expected: tuple[str, int]) -> None:
    assert options.address(CONTEXT, OPTION, text) == expected


@pytest.mark.parametrize(
    "text", ["host:", ":1", "host:x", "host:65536", "host:-1", "", "host:" + "9" * 5000]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not HOST:PORT"):
        options.address(CONTEXT, OPTION, text)


def test_a_number_is_one() -> None:
    assert options.RealRange(0, 1).convert("0.5", OPTION, CONTEXT) == 0.5
    for text in ("nan", "-NaN"):
        with pytest.raises(click.BadParameter, match="is no number"):
            options.RealRange(min=0).convert(text, OPTION, CONTEXT)


def test_settings_are_key_and_value() -> None:
    given = ("security.protocol=SSL", " a = b=c ", "empty=")
    found = options.settings(CONTEXT, OPTION, given)
    assert found == {"security.protocol": "SSL", "a": "b=c", "empty": ""}


@pytest.mark.parametrize("text", ["a", "=b", " =b"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not key=value"):
        options.settings(CONTEXT, OPTION, (text,))


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# for SSL\n! also a comment\n\nsecurity.protocol=SSL\nclient.id = me \n")
    found = options.kafka_options(path, {"client.id": "you"})
    assert found == {"security.protocol": "SSL", "client.id": "you"}
    assert options.kafka_options(None, {}) == {}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match=r"no\.properties cannot be read: No such file"):
        options.read_properties(tmp_path / "no.properties")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(click.UsageError, match="it is not text"):
        options.read_properties(binary)


@pytest.mark.parametrize("name", options.OF_JAVA_CLIENTS)
def test_a_setting_of_java_clients_is_refused_with_the_one_to_use(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.touch(0o600)
    file.write_text(f"{name}=x\n")
    with pytest.raises(
        click.UsageError, match=rf"{name} is a setting of Kafka's Java clients: use"
    ):
        options.kafka_options(file, {})
    with pytest.raises(click.UsageError, match="use s"):
        options.kafka_options(None, {name: "x"})


@pytest.mark.parametrize(
    "text",
    [
        "sasl.username:a=b\n",
        "client.id a=b\n",
        "security.protocol: SSL\n",
        "a=b \\\n  c\n",
        "a=se\\u0063ret\n",
        "a=b\\:c\n",
        "a=\\\\\\\n",
    ],
)
def test_what_only_java_reads_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(text)
    with pytest.raises(click.UsageError, match="write each setting on one line"):
        options.kafka_options(file, {})


def test_a_value_is_one_line_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.touch(0o600)
    password = "a\u2028b=\x0bc\x1cd\x85e\xa0"
    path.write_bytes(f"a=1\r\nsasl.password={password}\rb = x\\\\y # z\n".encode())
    found = options.read_properties(path)
    assert found == {"a": "1", "sasl.password": password, "b": "x\\y # z"}


def test_what_only_a_program_sets_is_refused() -> None:
    with pytest.raises(click.UsageError, match="error_cb: only a program can set it"):
        options.kafka_options(None, {"error_cb": "x"})


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("a=b\nnonsense\n")
    with pytest.raises(click.UsageError, match="line 2: not key=value"):
        options.read_properties(path)


def test_a_command_is_given_how_kafka_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("client.id=me\n")
    reached: list[options.KafkaClient] = []

    @click.command()
    @options.kafka_client_if_wanted
    @click.argument("name")
    def command(kafka: options.KafkaClient, name: str) -> None:
        assert name == "N"
        reached.append(kafka)

    given = ["--command-config", str(path), "-X", "acks=all", "N"]
    command.main(["--bootstrap-server", "k:1", *given], standalone_mode=False)
    command.main(["N"], standalone_mode=False)
    one, none = reached
    assert (one.servers, one.options) == ("k:1", {"client.id": "me", "acks": "all"})
    assert (none.servers, none.options) == ("", {})


def test_a_properties_file_with_a_password_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("sasl.username=me\nsasl.password=PLANTED\n")
    file.chmod(0o644)
    with pytest.raises(click.UsageError, match=r"holds sasl.password, and .*chmod 600") as refused:
        options.kafka_options(file, {})
    assert "PLANTED" not in str(refused.value)
    file.chmod(0o600)
    assert options.kafka_options(file, {})["sasl.password"] == "PLANTED"
