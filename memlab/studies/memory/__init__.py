"""Studies of one step: its bytes by part, block and moment."""
