"""Send questions to shop.py, and print its replies.

Usage: python ask.py QUESTION...
"""

import asyncio
import sys

from shop import broker


async def main(question: str) -> None:
    async with broker:
        reply = await broker.request(question, "STREAM.QUESTIONS", timeout=20)
        print(await reply.decode())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    asyncio.run(main(" ".join(sys.argv[1:])))
