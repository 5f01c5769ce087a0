"""Views of a lowering on a GPU, and of ways to convolve in time and bytes."""
