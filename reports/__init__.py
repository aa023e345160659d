"""A run's records read back: tables, figures, pages and comparisons. It runs nothing."""
