"""What helps to work on the library and is no part of it."""
