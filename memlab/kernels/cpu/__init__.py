"""Kernels of the processor."""
