"""`metronome cache`: shows what is remembered of earlier trainings, bounds it, or empties it."""

import shutil

from contracts.errors import BadInput
from learning.remembering import ledger
from learning.remembering.store import SHARE, Store, StoreTrouble, place
from reports.wording import size
from scenarios import quantities


def cache(clear: bool, limit: str | None) -> int:
    """Do what is asked for, then show the store."""
    wanted = None if limit is None else _bytes(limit)
    try:
        if clear:
            _clear()
        store = Store(place())
        if wanted is not None:
            store.set_limit(wanted)
        _show(store)
    except StoreTrouble as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"{place()}: {error}; mend that, or set XDG_CACHE_HOME") from None
    return 0


def _clear() -> None:
    """Empty the store; where it is not usable as one, remove all of it."""
    try:
        store = Store(place())
        store.clear()
        ledger.reset(store)
    except StoreTrouble:
        if place().is_dir():
            shutil.rmtree(place().resolve())
        else:
            place().unlink(missing_ok=True)


def _bytes(limit: str) -> int:
    try:
        return quantities.size_in_bytes(limit)
    except ValueError:
        raise BadInput(f"--limit {limit}: is not a size; write it like 20gb") from None


def _show(store: Store) -> None:
    entries = list(store.scan())
    used, totals = sum(taken for _, taken, _ in entries), ledger.read(store)
    share = f"1/{SHARE} of the free disk; --limit SIZE sets another bound"
    bound = "as --limit has set it" if store.limited else share
    print(f"{store.root}")
    print(f"  {len(entries)} trainings and evaluations, {size(used)}")
    print(f"  at most {size(store.limit())} ({bound})")
    print(
        f"  used by {totals.runs} runs: {totals.trainings_remembered} trainings remembered and "
        f"{totals.trainings_done} done, {totals.evaluations_remembered} evaluations remembered and "
        f"{totals.evaluations_done} done"
    )
    print("  `./metronome cache --clear` empties it; `run --fresh` does without it")
