"""The page as a single file, with the responses that one view needs written into it."""
