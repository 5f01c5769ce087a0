"""Studies of a step beside the memory of a card: what makes it fit, and what tools show more."""
