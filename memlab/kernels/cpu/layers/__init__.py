"""Kernels of layers, losses and optimizers."""
