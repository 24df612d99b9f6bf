"""What a sweep has done and what is left: states of its points, plans, expectations, summaries."""
