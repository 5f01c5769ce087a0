"""memlab on a server with many learners: files for JupyterHub, and what writes them."""
