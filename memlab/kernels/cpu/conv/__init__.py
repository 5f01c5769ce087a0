"""Algorithms of convolution."""
