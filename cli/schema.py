"""`metronome schema`: prints the JSON Schema of scenario or sweep files, for editors."""

import json

from scenarios.json_schema import scenario_schema, sweep_schema


def schema(of: str) -> int:
    """Print the schema of `scenario` or `sweep` files."""
    print(json.dumps(scenario_schema() if of == "scenario" else sweep_schema(), indent=1))
    return 0
