"""The picture language: a page is data, and is lowered to SVG, to text and to matplotlib.

``text`` measures and wraps lines of text, ``svg`` writes elements, ``theme`` holds colours and
patterns, ``scale`` maps values to positions. ``marks`` and ``labels`` are the parts of a chart,
``staircases`` the curves of bytes over a step, ``label_board`` finds free room for labels.
``table`` has the blocks of words, ``alternatives`` the lines and bars of several alternatives.
``chart`` and ``page`` put the parts together, and ``files`` writes a live view to a file.
"""
