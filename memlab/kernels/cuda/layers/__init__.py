"""Kernels of layers and losses on a GPU."""
