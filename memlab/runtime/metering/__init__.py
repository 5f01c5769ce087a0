"""Measurement of a run from outside: NumPy's allocation hook, the meter, and compile time."""
