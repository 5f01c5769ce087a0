"""Views of an arena: the address map."""
