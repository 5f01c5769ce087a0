"""Remedies for a step that does not fit, each with its bytes and its time."""
