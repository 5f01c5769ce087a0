"""Algorithms of convolution on a GPU, and the matrix products that they use."""
