"""What the server answers with: endpoints, payload types, encodings and errors."""
