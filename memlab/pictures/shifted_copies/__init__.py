"""Lowering a convolution: how often each value is copied."""
