"""What a computation is given: rows or sums behind one door, and what both can be asked for."""
