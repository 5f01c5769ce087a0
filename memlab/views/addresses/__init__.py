"""The address map: which tensors lie where in one arena, over the operations of a step."""
