"""List local queues by the beginning of their names, with PCF: depth, description.

Usage: python inventory.py [NAME*]
"""

import sys

import ibmmq
from ibmmq import CMQC, CMQCFC


def main(name: str = "*") -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    pcf = ibmmq.PCFExecute(qmgr)
    found = pcf.MQCMD_INQUIRE_Q(
        {
            CMQC.MQCA_Q_NAME: name.encode(),
            CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
            CMQCFC.MQIACF_Q_ATTRS: [
                CMQC.MQCA_Q_NAME,
                CMQC.MQIA_CURRENT_Q_DEPTH,
                CMQC.MQCA_Q_DESC,
            ],
        }
    )
    for queue in found:
        depth = queue[CMQC.MQIA_CURRENT_Q_DEPTH]
        description = queue[CMQC.MQCA_Q_DESC].decode().strip()
        print(f"{queue[CMQC.MQCA_Q_NAME].decode().strip()}: {depth}, {description}")
    pcf.disconnect()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
