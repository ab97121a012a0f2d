"""A server of Redis's protocol in memory, for the results of Celery's tasks; prints its port."""

from fakeredis import TcpFakeServer

server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
print(server.server_address[1], flush=True)
server.serve_forever()
