"""Studies of a step in seconds: who waits for what."""
