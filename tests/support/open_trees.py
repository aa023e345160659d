"""For tests that run as another user: the project's tree, where it lies below a closed folder."""

import shlex
import stat
import sys
from pathlib import Path

from contracts.project import ROOT


def readable_by_others(room: Path) -> list[str]:
    """Return what to put before a command of root's so that other users find the tree readable.

    Debian closes root's home to others. In mounts of the command's own, which end with it, an open
    folder takes the closed one's place, with nothing in it but the tree and its Python.
    """
    closed = [
        folder for folder in reversed(ROOT.parents) if not folder.stat().st_mode & stat.S_IXOTH
    ]
    if not closed:
        return []
    needed = {str(ROOT), sys.prefix, sys.base_prefix}
    lines = ["set -eu", f"cd {shlex.quote(str(room))}"]
    folders = sorted(folder for folder in needed if Path(folder).is_relative_to(closed[0]))
    for number, folder in enumerate(folders):
        lines.append(f"mkdir kept{number} && mount --bind {shlex.quote(folder)} kept{number}")
    lines.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(closed[0]))}")
    for number, folder in enumerate(folders):
        place = shlex.quote(folder)
        lines.append(f"mkdir -p {place} && mount --bind kept{number} {place}")
    lines.append('exec "$@"')
    return ["unshare", "--mount", "sh", "-c", "\n".join(lines), "sh"]
