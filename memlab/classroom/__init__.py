"""A class: lessons are handed out, shown as slides and graded, and predictions are drawn."""
