"""What a run takes, measured from outside: NumPy's hook, and what listens to it."""
