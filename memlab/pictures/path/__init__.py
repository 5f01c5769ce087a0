"""The data path: disk, RAM, pinned memory, device."""
