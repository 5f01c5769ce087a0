"""What only a course has: cards, exercises, and the one case."""
