"""Networks: layers, graphs of them, the zoo, and ways of counting. Shapes only."""
