"""The page in a cell of a notebook, answered by the kernel without a port."""
