"""Memory of three kinds of fine-tuning: full, with low-rank adapters, and with a base in 8 bits."""
