"""The ways to convolve on a GPU, and the matrix products that they are made of."""
