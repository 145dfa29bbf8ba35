"""Where rows become sums: arrays, data frames, files, tensors and SQL, all by the same rule."""
