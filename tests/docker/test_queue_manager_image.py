"""The image of docker/queue-manager: who may come in, its health, its end, the registry."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

import adapter
from adapter.errors import NotAuthorized
from adapter.localkafka.container import KafkaContainer
from tests.docker.conftest import (
    TAG,
    await_health,
    await_that,
    body,
    on_loopback,
    published_on,
    said,
)

WHEELS = Path(__file__).parents[2] / "build/docker/queue-manager/wheels"
SERVERS = "kafka:9093"
WITH_A_USER = "printf 'secret\\n' | mqk user add app --file users && exec mqk qmgr start"


def image(network: Network, **variables: str) -> DockerContainer:
    """A container of it, not started."""
    return DockerContainer(f"mqk:{TAG}", network=network).with_envs(
        MQK_BOOTSTRAP_SERVER=SERVERS, **variables
    )


@pytest.fixture(scope="module")
def manager(broker: KafkaContainer, network: Network) -> Iterator[DockerContainer]:
    container = image(
        network,
        MQK_QUEUE_MANAGER="QM1",
        MQK_LISTEN="0.0.0.0:1414",
        MQK_REMOTE_CLIENTS="with_password",
        MQK_CREDENTIALS_FILE="users",
    ).with_kwargs(entrypoint=["sh", "-c", WITH_A_USER])
    on_loopback(container, 1414)
    with container:
        await_health(container, "healthy")
        yield container


def connect(manager: DockerContainer, password: str = "secret") -> adapter.Connection:
    address = f"127.0.0.1:{manager.get_exposed_port(1414)}"
    return adapter.connect(address, user="app", password=password)


def test_it_is_healthy_and_not_root(manager: DockerContainer) -> None:
    assert published_on(manager) == {"127.0.0.1"}
    assert manager.exec(["id", "-u"]).output.strip() == b"1414"
    assert manager.exec(["id", "-g"]).output.strip() == b"1414"
    assert manager.exec(["sh", "-c", "touch /opt/mqk/x"]).exit_code != 0


def test_it_runs_the_code_that_docker_build_has_said(manager: DockerContainer) -> None:
    (wheel,) = WHEELS.glob("mqk-*.whl")
    with connect(manager) as qm:
        is_compiled = qm.figures()["compiled_modules"] > 0
    assert is_compiled != wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.parametrize("password", ["", "wrong"])
def test_nobody_comes_in_from_outside_without_the_password(
    manager: DockerContainer, password: str
) -> None:
    with pytest.raises(NotAuthorized):
        connect(manager, password)


def test_not_even_if_the_queue_manager_demands_none(manager: DockerContainer) -> None:
    with connect(manager) as qm:
        auth = "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"
        qm.alter_object("authinfo", auth, check_client="NONE")
    with pytest.raises(NotAuthorized, match="must be given"):
        connect(manager, "")
    within = manager.exec(["mqk", "qmgr", "status", "--json"])
    assert within.exit_code == 0, within.output


def test_what_was_put_outlives_a_kill_of_the_container(manager: DockerContainer) -> None:
    with connect(manager) as qm:
        qm.define_queue("KEPT")
        qm.put("KEPT", b"body")
    manager.get_wrapped_container().kill()
    manager.get_wrapped_container().start()
    await_health(manager, "healthy")
    with connect(manager) as qm:
        assert body(qm, "KEPT") == b"body"


def test_it_does_not_listen_without_users(broker: KafkaContainer, network: Network) -> None:
    """Neither by an address alone, nor with no file of users."""
    for words, more in (
        ("reachable from other machines", {}),
        ("credentials_file is not set", {"MQK_REMOTE_CLIENTS": "with_password"}),
    ):
        container = image(network, MQK_QUEUE_MANAGER="QM2", MQK_LISTEN="0.0.0.0:1414", **more)
        with container:
            assert container.wait() != 0
            assert words in said(container)


def test_the_image_serves_a_registry_too(broker: KafkaContainer, network: Network) -> None:
    with image(network).with_command(["registry", "serve"]) as registry:
        await_that(lambda: "8081" in said(registry), lambda: said(registry))
        listed = registry.exec(["mqk", "registry", "list"])
        assert listed.exit_code == 0, listed.output


def test_it_stops_when_docker_says_so(manager: DockerContainer) -> None:
    """The last test of this container. SIGTERM: what is open is backed out, then status 0."""
    manager.get_wrapped_container().stop(timeout=20)
    assert manager.wait() == 0
