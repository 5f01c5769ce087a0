"""Rewrites of a step, one per file: each takes a step and gives another one."""
