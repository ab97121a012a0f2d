"""The protocol of mqk clients: frames over a connection, requests to the owner."""
