"""A transcript without weights: what a real sie-server says is computed from the bytes that it was sent."""

import hashlib
from typing import ClassVar

from sie_server.adapters._spec import AdapterSpec
from sie_server.adapters.fake.adapter import FakeAdapter
from sie_server.core.inference_output import ExtractOutput


class Ears(FakeAdapter):
    """Hears a digest of the file, its format, the language and the instruction."""

    # The weightless engine generates too, so its specification has to say tokens.
    spec: ClassVar[AdapterSpec] = AdapterSpec(inputs=("audio",), outputs=("json", "tokens"), unload_fields=())

    def extract(self, items, *, labels=None, output_schema=None, instruction=None, options=None, prepared_items=None):
        data = [_heard(item.audio, instruction, options or {}) for item in items]
        return ExtractOutput(entities=[[] for _ in items], data=data, batch_size=len(items))


def _heard(audio, instruction, options):
    digest = hashlib.sha256(audio.data).hexdigest()[:8]
    said = [digest, audio.format or "unknown", options.get("language") or "any", instruction or "nothing"]
    words = [{"word": word, "start": index / 4, "end": index / 4 + 0.25} for index, word in enumerate(said)]
    segments = [{"id": 0, "start": 0.0, "end": len(said) / 4, "text": " ".join(said)}]
    seconds = {"text": " ".join(said), "duration_ms": 250 * len(said), "language": options.get("language") or "en"}
    return {**seconds, "segments": segments, "words": words}
