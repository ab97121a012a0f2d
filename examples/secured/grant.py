"""Grants the rights on Kafka that `mqk acl list --format json` prints.

    mqk acl list --principal User:shop --name SHOP --format json | python grant.py FOLDER HOST:PORT

It connects as `admin`, with the certificate that make-certificates has put into FOLDER.
"""

import json
import sys
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

WITHIN_S = 30.0


def binding(line: str) -> AclBinding:
    """Read a line of JSON."""
    one = json.loads(line)
    return AclBinding(
        ResourceType[one["resource_type"]],
        one["resource_name"],
        ResourcePatternType[one["pattern_type"]],
        one["principal"],
        one["host"],
        AclOperation[one["operation"]],
        AclPermissionType[one["permission_type"]],
    )


def main() -> None:
    """Grant what standard input says."""
    folder, servers = Path(sys.argv[1]), sys.argv[2]
    admin = AdminClient(
        {
            "bootstrap.servers": servers,
            "security.protocol": "SSL",
            "ssl.ca.location": str(folder / "ca.pem"),
            "ssl.certificate.location": str(folder / "admin.pem"),
            "ssl.key.location": str(folder / "admin.key"),
        }
    )
    wanted = [binding(line) for line in sys.stdin if line.strip()]
    for done in admin.create_acls(wanted, request_timeout=WITHIN_S).values():
        done.result(WITHIN_S)
    print(f"{len(wanted)} rights granted")


if __name__ == "__main__":
    main()
