"""The kernels of a processor."""
