"""Does speech survive the bridge? The OpenAI client's transcriptions in every format, through it and without it."""

import clients
from report import expect, same

SOUND = ("meeting.wav", bytes(range(256)) * 300)
FORMATS = ("json", "text", "srt", "vtt", "verbose_json")


def transcriptions(pair):
    """Each format, with the file, the language and the prompt arriving whole."""
    through, heads = clients.openai_at(pair.through)
    direct, _heads = clients.openai_at(pair.direct)
    for kind in FORMATS:
        options = {"file": SOUND, "language": "pl", "prompt": "żaba", "temperature": 0, "response_format": kind}
        if kind == "verbose_json":
            options["timestamp_granularities"] = ["word", "segment"]
        got = through.audio.transcriptions.create(model=pair.model, **options)
        wanted = direct.audio.transcriptions.create(model=pair.upstream_model, **options)
        expect("pl" in str(wanted) and "wav" in str(wanted), "the upstream did not hear everything")
        same(_whole(got), _whole(wanted), f"transcript as {kind}")
        pair.disclosed(heads)


def _whole(answer):
    return answer if isinstance(answer, str) else answer.to_dict()
