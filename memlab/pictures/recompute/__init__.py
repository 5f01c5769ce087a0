"""Recomputation: the forward pass that runs again, and the memory it frees."""
