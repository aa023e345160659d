"""Changes a valid input at random: its bytes, or the values in its tree."""

import copy
import datetime
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

# What has broken a reader before, or may well.
ODD: Sequence[Any] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 255, 10**6, 2**31, 2**63 - 1, -(2**63), 2**64, 10**30),
    *(0.0, -0.0, 0.5, 1.0, 1e-300, 1e308, -1e308, float("inf"), float("-inf"), float("nan")),
    *(
        "",
        " ",
        "0",
        "-1",
        "1e999",
        "nan",
        "true",
        "null",
        "a" * 300,
        "\0",
        "\n",
        "é",
        "\u202e",
        "=1+1",
    ),
    *(
        "..",
        "/",
        "/dev/zero",
        "/etc/passwd",
        "10mbit",
        "1e300s",
        "100%",
        "99h",
        "1kbit",
        "0bit",
        "30gbit",
    ),
    *("client1", "client1-wan", "cloud", "lte", "fedavg", "tempo", "[x]", "😀", "%s", "{0}"),
    *([], {}, [[]], [{}], {"": 1}, [1, "2", None], {"a": {"b": {"c": 1}}}, [0] * 100),
    datetime.date(2026, 1, 1),
)

Place = tuple[Any, Any]  # a dict or list, and a key or index of it


def odd_value(chance: Random) -> Any:
    """Return a value that is probably wrong wherever it stands."""
    pick = chance.random()
    if pick < 0.6:
        return copy.deepcopy(chance.choice(ODD))
    if pick < 0.7:
        return chance.randrange(-(2 ** chance.randrange(1, 80)), 2 ** chance.randrange(1, 80))
    if pick < 0.8:
        return chance.uniform(-1, 1) * 10.0 ** chance.randrange(-20, 20)
    if pick < 0.95:
        return "".join(chr(chance.choice((48, 65, 97, 46, 10, 200, 0x2028))) for _ in range(8))
    nested: Any = 1
    for _ in range(chance.choice((3, 40, 400))):
        nested = [nested] if chance.random() < 0.5 else {"a": nested}
    return nested


def mutated_tree(tree: Any, chance: Random, odd: Any = odd_value) -> Any:
    """Return a copy of the tree with one to three values changed, removed, added or swapped."""
    tree = copy.deepcopy(tree)
    for _ in range(chance.randint(1, 3)):
        places = list(_places(tree))
        if not places:
            return odd(chance)
        holder, key = chance.choice(places)
        what = chance.choice(("set", "set", "set", "remove", "add", "swap", "double"))
        if what == "set":
            holder[key] = odd(chance)
        elif what == "remove":
            del holder[key]
        elif what == "add" and isinstance(holder, dict):
            holder[chance.choice((str(odd(chance))[:50], str(key) + "x"))] = odd(chance)
        elif what == "swap":
            other, name = chance.choice(places)
            if not _inside(holder[key], other) and not _inside(other[name], holder):
                holder[key], other[name] = other[name], holder[key]
        elif isinstance(holder, list):
            holder.extend([copy.deepcopy(holder[key])] * chance.choice((1, 10)))
    return tree


def mutated_bytes(content: bytes, chance: Random) -> bytes:
    """Return a copy with some bytes changed, cut, inserted, doubled or moved."""
    found = bytearray(content)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(found) + 1)
        end = min(len(found), at + chance.choice((1, 2, 8, 64, 1000)))
        what = chance.randrange(7)
        if what == 0 and at < len(found):
            found[at] = chance.randrange(256)
        elif what == 1 and at < len(found):
            found[at] ^= 1 << chance.randrange(8)
        elif what == 2:
            del found[at:end]
        elif what == 3:
            found[at:at] = chance.randbytes(chance.choice((1, 4, 30)))
        elif what == 4:
            found[at:at] = found[at:end] * chance.choice((1, 2, 50))
        elif what == 5:
            found[at:at] = chance.choice(
                (b"\0", b"\n", b'"', b"[", b"{", b"]", b"=", b"9" * 40, b",")
            )
        elif chance.random() < 0.1:
            del found[at:]
    return bytes(found)


def as_csv(rows: Any) -> bytes:
    """Write rows, or what has become of them, as lines of a table."""
    whole = rows if isinstance(rows, list) else [rows]
    lines = [row if isinstance(row, list) else [row] for row in whole]
    return "\n".join(",".join(map(str, line)) for line in lines).encode("utf-8", "replace")


def _places(tree: Any) -> Iterator[Place]:
    left = [tree]
    while left:
        part = left.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        for key in keys:
            yield part, key
            if isinstance(part[key], dict | list):
                left.append(part[key])


def _inside(whole: Any, part: Any) -> bool:
    """Whether `part` is this very value or stands in it."""
    return whole is part or any(holder[key] is part for holder, key in _of(whole))


def _of(tree: Any) -> Iterator[Place]:
    return _places(tree) if isinstance(tree, dict | list) else iter(())
