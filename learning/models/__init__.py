"""The models that can be trained, and the cost of their training steps."""
