"""The ratio table: what each measure costs here, in NumPy and in other libraries, timed together on the same rows."""
