"""Ask a question and wait for the answer; or answer the questions that come.

The reply is put in the same unit of work in which the request was got: a server that dies in
between has not answered, and the next one is given the request again.
"""

import argparse
import os

import adapter


def serve(qm: adapter.Connection, queue: str, timeout: float | None) -> None:
    """Answer requests until none comes for timeout seconds."""
    for unit in qm.queue(queue).units(timeout=timeout):
        with unit:
            for request in unit.messages:
                qm.reply(request, request.body.upper())


def ask(qm: adapter.Connection, queue: str, question: str, timeout: float) -> str:
    """Return the answer; NoReply if it does not come in time. The call makes the reply queue."""
    reply = qm.queue(queue).request(question, timeout=timeout, expiry_s=timeout)
    return reply.body.decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=["serve", "ask"])
    parser.add_argument("queue", help="the queue of requests")
    parser.add_argument("question", nargs="*", help="what to ask")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds to wait (%(default)s)")
    given = parser.parse_args()
    with adapter.connect(os.environ.get("MQK_QMGR", "127.0.0.1:1414")) as qm:
        if given.role == "serve":
            serve(qm, given.queue, given.timeout)
        else:
            try:
                print(ask(qm, given.queue, " ".join(given.question), given.timeout))
            except adapter.errors.NoReply as error:
                raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
