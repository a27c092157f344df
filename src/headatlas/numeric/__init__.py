"""Pure functions on arrays. Nothing in here knows about atlases, models or files."""
