"""The scenario library, its schema and loader, and the planner that resolves scenarios."""
