"""Topics, subscriptions, publications, and what is retained of them."""
