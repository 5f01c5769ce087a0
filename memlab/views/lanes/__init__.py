"""What a wider vector and a smaller number format buy, measured here: two still pictures."""
