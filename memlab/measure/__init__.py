"""Experiments on this machine, whose results lessons show."""
