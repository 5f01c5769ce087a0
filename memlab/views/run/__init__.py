"""Guess, plan and measurement of one run side by side."""
