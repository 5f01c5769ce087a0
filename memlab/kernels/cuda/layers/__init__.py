"""Kernels of layers, losses and optimizers on a GPU."""
