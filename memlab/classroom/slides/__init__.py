"""Slides of a lesson in one HTML file, which loads nothing."""
