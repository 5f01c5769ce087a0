"""Lecture in one HTML file: slides that follow a slider without a kernel."""
