"""A training step as a CUDA device runs it, recorded on a machine without one.

Import these modules only where PyTorch is installed: memlab does not need it.
"""
