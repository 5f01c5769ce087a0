"""Loops that lessons measure, and no step runs."""
