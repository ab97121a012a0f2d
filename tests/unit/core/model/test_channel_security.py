"""What a channel demands of its clients."""

import pytest

from adapter.core.attributes.objects import ChannelAttributes
from adapter.core.model.channel_security import why_not_by
from adapter.core.model.manager import QueueManager

TILL = (("CN", "till 7"), ("O", "Shop"))


def why_not(
    channel: ChannelAttributes | None,
    *,
    rules: str = "DISABLED",
    is_encrypted: bool = False,
    subject: tuple[tuple[str, str], ...] = (),
) -> str:
    qm = QueueManager("QM1", b"owner")
    qm.attributes.channel_rules = rules  # type: ignore[assignment]
    if channel is not None:
        qm.objects["channel", "SHOP"] = channel
    return why_not_by(qm, "SHOP", is_encrypted=is_encrypted, subject=subject)


def test_a_channel_that_is_not_defined_is_left_by_no_rules() -> None:
    """Where rules count, a client that names any other channel would be by none of them."""
    assert why_not(None) == ""
    assert "DEFINE CHANNEL(SHOP)" in why_not(None, rules="ENABLED")
    assert why_not(ChannelAttributes(), rules="ENABLED") == ""


@pytest.mark.parametrize("rules", ["DISABLED", "ENABLED"])
def test_what_a_channel_with_tls_demands(rules: str) -> None:
    asks = ChannelAttributes(ssl_cipher="ANY_TLS12_OR_HIGHER", ssl_peer="CN=till*")
    optional = ChannelAttributes(ssl_cipher="ANY_TLS12_OR_HIGHER", ssl_client_auth="OPTIONAL")
    assert "SSLCIPH" in why_not(asks, rules=rules)
    assert "SSLCAUTH" in why_not(asks, rules=rules, is_encrypted=True)
    assert why_not(optional, rules=rules, is_encrypted=True) == ""
    assert why_not(asks, rules=rules, is_encrypted=True, subject=TILL) == ""
    other = (("CN", "desk 7"),)
    assert "SSLPEER" in why_not(asks, rules=rules, is_encrypted=True, subject=other)
