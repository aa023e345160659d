"""The Debian mirror that this machine uses, read from its own settings, for another release."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import BadInput

_APT = Path("/etc/apt")
# What a mirror may need of this machine's apt: a proxy, or patience with an old copy.
_SETTINGS = re.compile(
    r'^Acquire::(Check-Valid-Until|https?::(?:\S+::)?(?:Proxy|CaInfo)) ".+";$', re.MULTILINE
)


@dataclass(frozen=True)
class Mirror:
    """Where a release's packages come from."""

    main: str
    security: str | None = None

    def sources(self, suite: str) -> str:
        """Return the text of sources.list for a release."""
        lines = [f"deb {self.main} {suite} main", f"deb {self.main} {suite}-updates main"]
        if self.security:
            lines.append(f"deb {self.security} {suite}-security main")
        return "\n".join(lines) + "\n"


def of_this_machine() -> Mirror:
    """Read this machine's mirror from /etc/apt."""
    own = re.search(r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(), re.MULTILINE)
    places = [_APT / "sources.list", *sorted(_APT.glob("sources.list.d/*"))]
    texts = [path.read_text() for path in places if path.is_file()]
    found = find("\n\n".join(texts), own[1] if own else "stable")
    if found is None:
        raise BadInput("/etc/apt: names no Debian mirror; give one with --mirror")
    return found


def find(text: str, suite: str) -> Mirror | None:
    """Find the mirror of a release in the text of apt's lists, of the old format or the new."""
    entries = list(_entries(text))
    main = [uri for uri, suites in entries if suite in suites]
    security = [uri for uri, suites in entries if f"{suite}-security" in suites]
    return Mirror(main[0], security[0] if security else None) if main else None


def settings() -> str:
    """Return the settings of this machine's apt that its mirror may need."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    return "".join(f"{found[0]}\n" for found in _SETTINGS.finditer(dump.stdout))


def _entries(text: str) -> Iterator[tuple[str, set[str]]]:
    """Each address with its suites."""
    for line in re.findall(r"^deb\s+(?:\[.*?\]\s+)?(.+)$", text, re.MULTILINE):
        uri, suite, *_ = line.split()
        yield uri, {suite}
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        fields = dict(line.split(":", 1) for line in lines if re.match(r"\w[\w-]*:", line))
        if "deb" in fields.get("Types", "").split():
            for uri in fields.get("URIs", "").split():
                yield uri, set(fields.get("Suites", "").split())
