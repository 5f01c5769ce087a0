"""A recorded model explained: its peak, what fits, and changes that help."""
