"""A training step: operations on named tensors, built from a network."""
