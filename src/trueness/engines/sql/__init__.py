"""The reduction for a warehouse: ``text`` writes the query, ``returned`` reads what it gave back."""
