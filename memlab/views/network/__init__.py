"""The network-memory view: the floor and the mountain."""
