"""What fine-tuning saves: full, with low-rank adapters, and with a base in 8 bits."""
