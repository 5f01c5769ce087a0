"""What the cards of each lesson ask."""
