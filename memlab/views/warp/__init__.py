"""One warp of a lowering: where in memory its threads load and store, and what moves for them."""
