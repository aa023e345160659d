"""The formats that rooms share: each is defined in one module, typed, and specified in docs/."""
