"""Which number programs see of a message that no endpoint has sent."""

from adapter.core.contract.broker_header import BrokerHeader, of_no_direction


def test_a_message_of_no_direction_has_a_number_for_programs() -> None:
    for number in (0, 1, 2**40):
        assert of_no_direction(of_no_direction(number)) == number
        sent, put = BrokerHeader(sequence=number), BrokerHeader(sequence=of_no_direction(number))
        assert (sent.has_direction, put.has_direction) == (True, False)
        assert (sent.shown_sequence, put.shown_sequence) == (number, number)
