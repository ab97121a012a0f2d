"""Pages over HTTP: health, figures, metrics and the schema registry."""
