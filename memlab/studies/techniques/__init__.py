"""Studies of what techniques do to a step."""
