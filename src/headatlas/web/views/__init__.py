"""Payloads and buffers that are read from an atlas. Nothing here runs a model."""
