"""The roles of owner and standby, and the link between them."""
