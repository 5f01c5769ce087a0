"""What pictures show, as values with a text, in so far as several show it."""
