"""A PyTorch model as a step."""
