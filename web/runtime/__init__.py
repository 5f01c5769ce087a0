"""Python that runs in the worker of a page: cells, their outputs, and stand-ins for the notebook's
packages."""
