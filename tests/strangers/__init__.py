"""What is sent before it is known who sends it: mutated hellos, requests and TLS records.

mutations changes bytes; attempts makes what a stranger sends; site is a queue manager in a process
of its own, and onslaught sends to it while another client is served.
"""
