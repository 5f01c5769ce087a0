"""What the exercises of each lesson ask for."""
