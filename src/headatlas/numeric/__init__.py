"""Pure functions on arrays. Nothing in here knows of atlases, models or files."""
