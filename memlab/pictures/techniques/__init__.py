"""Every technique with its bytes and its time."""
