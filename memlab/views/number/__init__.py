"""The bits of one number in a format: what they mean, what was lost, and which values are next."""
