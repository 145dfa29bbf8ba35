"""Numbers for a picture: curves with their bands, nothing drawn."""
