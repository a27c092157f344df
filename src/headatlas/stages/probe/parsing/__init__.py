"""Dependency parsing from attention: maps between words, probes that are trained on them, baselines and scores."""
