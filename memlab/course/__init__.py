"""Widgets of a course beside its pictures: cards, exercises, the bar of the case, the lecture."""
