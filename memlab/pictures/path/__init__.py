"""Picture of the data path: disk, RAM, pinned memory, device."""
