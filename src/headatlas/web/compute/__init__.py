"""Payloads and buffers that need the model: full maps and head t-SNE, computed on request."""
