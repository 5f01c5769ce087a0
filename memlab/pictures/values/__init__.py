"""Values with a text that several pictures show."""
