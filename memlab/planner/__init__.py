"""What a step costs, without an array: bytes over time."""
