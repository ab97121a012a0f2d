"""The protocol of mqk clients: frames over a connection, requests through the gate."""
