"""Every picture of memlab: what it shows, as values with a text, and how it is drawn."""
