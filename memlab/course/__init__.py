"""Widgets of the course: cards, exercises, the running case of ResNet-50, and the lecture."""
