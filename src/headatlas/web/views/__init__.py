"""Payloads made from an atlas alone. Nothing in here runs a model."""
