"""Convolution tile by tile, without ever holding the whole lowered matrix.

Lowering makes a convolution one matrix product, ``Y = W L``, and ``L`` has k^2 times the bytes of
the image. But a product reads ``L`` a few columns at a time, so only those need to be in memory. A
**tile** is some neighbouring output places, counted along the rows of the output: a few columns of
``L``. Its values (the **panel**) are lowered, multiplied while they are in the cache, and
overwritten by those of the next tile. The workspace is the panel, whatever the size of the image.

Two algorithms of ``memlab.kernels.cpu.conv`` are made of this:

- ``im2col_tiles`` (im2col-tile): the panel of a tile is lowered, then multiplied by the weights of
  all output maps. Where the panel does not hold all channels, some are lowered at a time, and the
  output adds up. Backward, ``dW = dY L^T`` is dot products along the places of a tile;
  ``dL = W^T dY`` is computed for a few rows at a time, and added back to the image at once.
- ``offset_table`` (offsets): there is no panel. At stride 1 the places of a tile lie side by side
  in the image under every tap (ky, kx), so a table says how far away they are, and which of them
  lie inside the image.

Within a tile the product keeps a **block of sums** in the processor's registers: ``ROWS`` output
maps by ``VECTORS`` vectors of places. A step loads the vectors of one row of the panel, and
multiplies each with one weight of every map, so that what is loaded takes part in several
products::

                       places of the tile
                    [ VECTORS x lanes  ]   row (c, ky, kx) of the panel
    W[k]   [w]      [ sum   sum   sum  ]
    W[k+1] [w]   x  [ sum   sum   sum  ]   stays in registers over all rows of the panel
    ...             [ ...              ]

``packing`` lowers the values of a tile and adds them back. ``block_products`` writes the loops over
a block of sums, instruction by instruction, since no compiler finds them.

Nothing is checked in those loops. They write whole blocks, so the row length of a panel is a
multiple of a block's lanes, and a block's rows fit behind the panel: ``packing.check`` checks a
workspace for that.
"""
