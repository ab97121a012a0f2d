"""Print the publications on a topic, until none comes for some seconds (30).

Usage: python subscribe.py prices/# [SECONDS [NAME]]

With a name the subscription is durable: it collects while nobody is there, and goes on where it was
left. Without one it ends with this program.
"""

import sys

import pymqi
from pymqi import CMQC


def main(topic_string: str, seconds: str = "30", name: str = "") -> None:
    qmgr = pymqi.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    options = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED
    options |= CMQC.MQSO_DURABLE | CMQC.MQSO_RESUME if name else CMQC.MQSO_NON_DURABLE
    wanted = pymqi.SD(Options=options)
    wanted.set_vs("ObjectString", topic_string)
    if name:
        wanted.set_vs("SubName", name)
    subscription = pymqi.Subscription(qmgr)
    subscription.sub(sub_desc=wanted)
    print("subscribed", flush=True)
    gmo = pymqi.GMO(
        Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_NO_PROPERTIES,
        WaitInterval=int(float(seconds) * 1000),
    )
    try:
        while True:
            print(subscription.get(None, pymqi.MD(), gmo).decode(), flush=True)
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    subscription.close(sub_close_options=CMQC.MQCO_KEEP_SUB if name else CMQC.MQCO_NONE)
    qmgr.disconnect()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
