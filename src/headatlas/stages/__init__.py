"""The stages, one package each. Stages never import one another: they meet in the atlas."""
