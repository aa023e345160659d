"""The embedded User Mode Linux: its kernel, its first process, and what watches over it."""
