"""From a network to a step: forward, loss, backward, update."""
