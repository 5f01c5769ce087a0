"""Bytes: what is alive inside each operation of a step, and what may be asked of that."""
