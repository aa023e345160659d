"""Values as one line of TOML, for changes to a scenario that are made one by one."""

import json
from typing import Any


def written(value: Any) -> str:
    """Write the value as one line of TOML."""
    if isinstance(value, dict):
        parts = ", ".join(f"{json.dumps(key)} = {written(part)}" for key, part in value.items())
        return "{" + parts + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else str(value)
