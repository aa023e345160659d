"""The formats that rooms agree on: each defined in one module, typed, specified in docs/."""
