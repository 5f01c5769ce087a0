"""Parts of IPython that memlab uses."""
