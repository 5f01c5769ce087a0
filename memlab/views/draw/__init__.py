"""The picture language: a page is data, and is lowered to SVG, to text and to matplotlib.

``text`` measures and wraps, ``svg`` writes, ``theme`` paints, ``scale`` places, ``marks`` are what
a chart is made of, ``label`` finds room for names, ``chart`` and ``page`` put all together.
"""
