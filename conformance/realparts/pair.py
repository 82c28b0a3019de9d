"""What is compared: one call through Spillway, the same call to the upstream itself."""

import dataclasses

import numpy

import clients
from report import same

# What may differ by design: who served, and how long that took.
DISCLOSED = {"request", "timing", "model"}


@dataclasses.dataclass(frozen=True)
class Pair:
    """A model as callers of Spillway name it, and the upstream's own name for it."""

    through: str
    model: str
    direct: str
    upstream_model: str
    upstream: str
    reason: str | None = None
    kind: str = "sie"

    def disclosed(self, heads):
        """The last answer came from this pair's upstream, and says so."""
        same(heads.last()[0], 200, "status")
        clients.disclosed(heads, "remote", upstream=self.upstream, reason=self.reason)


def plain(value):
    """An SDK's result as comparable values: arrays by dtype, shape and bytes, without what is disclosed."""
    if isinstance(value, numpy.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items() if key not in DISCLOSED}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value


def listed(found, where=""):
    """Checks of pairs as checks of a scene: what each proves, and how."""
    return [(where + what, _prove(check, *arguments)) for what, check, *arguments in found]


def _prove(check, *arguments):
    return lambda _scene: check(*arguments)
