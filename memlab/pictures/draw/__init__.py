"""The picture language: a page is data, and is lowered to SVG, to text and to matplotlib.

``text`` measures and wraps, ``svg`` writes, ``theme`` paints, ``scale`` places; ``marks`` and
``labels`` are what a chart is made of, ``board`` finds room; ``table`` has the blocks of words,
``ways`` lines and bars of several ways; ``chart`` and ``page`` put all together.
"""
