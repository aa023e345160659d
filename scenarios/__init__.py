"""Scenarios: the library, the schema and loader, and the planner that turns them into plans."""
