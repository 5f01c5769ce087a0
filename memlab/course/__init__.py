"""Widgets of the course: cards, exercises, the running case of ResNet-50, the lecture, and the
moving picture of the README."""
