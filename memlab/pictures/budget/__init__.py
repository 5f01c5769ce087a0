"""The capstone: a board of blocks, a budget, and the plane of bytes and time."""
