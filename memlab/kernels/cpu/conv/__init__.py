"""The ways to convolve."""
