"""Moving picture of the README: nine shifted copies of an input fly into a matrix, and are not
needed."""
