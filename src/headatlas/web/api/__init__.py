"""What the server sends: endpoints, payload types, encodings and errors. Nothing here reads an atlas."""
