"""Runs of a step on real arrays, with a measurement from outside of the memory that they used."""
