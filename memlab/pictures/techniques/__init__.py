"""Picture of every technique with its bytes and its time."""
