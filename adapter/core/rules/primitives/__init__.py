"""What rules of several families share: how a decision is made, names, places, waits, selection."""
