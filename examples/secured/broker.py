"""A broker that admits clients with a certificate, and allows them what was granted.

    python broker.py FOLDER PORT

FOLDER has what make-certificates makes, and gets the broker's data. It runs until it is stopped.
Only `admin` may do everything. For a trial: it is one broker, on this machine alone.
"""

import signal
import sys
import threading
from pathlib import Path

from adapter.localkafka import LocalKafka, free_port

HOST = "127.0.0.1"


def settings(folder: Path, port: int, local: int) -> dict[str, str]:
    """The settings of the broker. local: a port where nobody may do anything, for its start."""
    controller = free_port()
    stores = {"keystore": "broker.both.pem", "truststore": "ca.pem"}
    return {
        "listeners": f"PLAIN://{HOST}:{local},TLS://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAIN://{HOST}:{local},TLS://{HOST}:{port}",
        "listener.security.protocol.map": "PLAIN:PLAINTEXT,TLS:SSL,CONTROLLER:SSL",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "inter.broker.listener.name": "TLS",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:broker",
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/",
        **{f"ssl.{store}.type": "PEM" for store in stores},
        **{f"ssl.{store}.location": str(folder / file) for store, file in stores.items()},
    }


def main() -> None:
    """Run until SIGTERM or Ctrl-C."""
    folder, port = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    local = free_port()
    with LocalKafka(data_dir=folder / "kafka", port=local, settings=settings(folder, port, local)):
        print(f"the broker listens with TLS at {HOST}:{port}", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
