"""The embedded User Mode Linux: its kernel, its first process, and who watches over it."""
