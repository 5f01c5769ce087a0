"""The memory of a training step at a batch."""
