"""Executes a notebook's cells one after the other, as Jupyter would, and prints what each shows.

python tests/support/notebook.py FILE: a line of JSON for each code cell, with the types of what its
last expression offers to be shown as. Jupyter itself is not needed.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any

_SHOWN_AS = {"_repr_html_": "text/html", "_repr_png_": "image/png"}


def main(file: Path) -> None:
    """Execute all code cells in one namespace; an error in one ends it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(file.read_text())["cells"]):
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"]), f"cell {number}").body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
        shown: dict[str, Any] = {"cell": number}
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            kinds = [kind for kind in _SHOWN_AS if len(getattr(value, kind, bytes)())]
            shown |= {"text": repr(value), "as": [_SHOWN_AS[kind] for kind in kinds]}
        print(f"\n{json.dumps(shown)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
