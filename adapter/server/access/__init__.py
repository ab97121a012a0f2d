"""Who a client is and what is on record of it: passwords, tokens, certificates, groups, the audit.

This room knows no protocol: what a client claims is handed to it.
"""
