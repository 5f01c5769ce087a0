"""Index maps and random numbers in plain Python: the kernels of every device compile them."""
