"""What tests share: planted data, small models, slow reference computations, servers and browsers."""
