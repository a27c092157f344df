"""The HTTP application: access control, static files, and running it."""
