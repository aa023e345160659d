"""The section [server_data]: training samples that the server holds itself."""

from typing import Literal

from pydantic import model_validator

from scenarios.sections import Count, Section

# The keys that each kind needs.
_KEYS: dict[str, tuple[str, ...]] = {
    "iid": ("samples",),
    "clients": ("clients", "samples_per_client"),
    "source": ("source", "per_class"),
}
# The data set that each source is a substitute for: both have the same classes.
SOURCE_DATASETS = {"letters": "emnist", "stl10": "cifar10"}


class ServerData(Section):
    """Part of the training set, samples of some clients, or another source (FSL, section V)."""

    kind: Literal["iid", "clients", "source"]
    samples: Count | None = None  # n_0
    clients: Count | None = None  # c of them
    samples_per_client: Count | None = None  # s from each
    source: Literal["letters", "stl10"] | None = None
    per_class: Count | None = None

    @model_validator(mode="after")
    def _has_its_keys(self) -> "ServerData":
        wanted = _KEYS[self.kind]
        for key in (key for keys in _KEYS.values() for key in keys):
            given = getattr(self, key) is not None
            if key in wanted and not given:
                raise ValueError(f'kind "{self.kind}" needs "{key}"')
            if key not in wanted and given:
                raise ValueError(f'kind "{self.kind}" has no "{key}"; use {" and ".join(wanted)}')
        return self
