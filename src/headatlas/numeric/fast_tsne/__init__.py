"""t-SNE of 1,000 to 20,000 points on one core, in two or three dimensions: exact neighbors, repulsion on a mesh."""
