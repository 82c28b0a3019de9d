"""Who asks? The real clients, with every answer's head written down on the way."""

import cohere
import httpx
import openai
import sie_sdk

from report import expect, same

SECONDS = 30.0


class Heads:
    """Heads of the answers that one client got. The SDKs show them only in part."""

    def __init__(self):
        self._answers = []

    def note(self, response):
        self._answers.append((response.status_code, response.headers))

    def last(self):
        expect(self._answers, "no answer was received")
        return self._answers[-1]

    def count(self):
        return len(self._answers)


def _http(heads, url):
    return httpx.Client(base_url=url, timeout=SECONDS, event_hooks={"response": [heads.note]})


def sie(url, **options):
    """The SIE SDK's client and the heads it sees."""
    heads = Heads()
    return sie_sdk.SIEClient(url, http_client=_http(heads, url), **options), heads


def openai_at(url):
    """The OpenAI client and the heads it sees. No retries of its own: each answer is looked at."""
    heads = Heads()
    base = f"{url}/v1"
    return openai.OpenAI(base_url=base, api_key="unused", max_retries=0, http_client=_http(heads, base)), heads


def cohere_at(url, version=1):
    """The Cohere client and the heads it sees; its second version asks /v2/rerank. No retries of its own."""
    heads = Heads()
    kind = cohere.Client if version == 1 else cohere.ClientV2
    return kind(api_key="unused", base_url=url, max_retries=0, httpx_client=_http(heads, url)), heads


def raw(url, path, body, accept="application/json"):
    """One plain POST, for looking at bytes."""
    return httpx.post(f"{url}{path}", json=body, headers={"accept": accept}, timeout=SECONDS)


def disclosed(heads, side, upstream=None, reason=None, failure=None):
    """The last answer says who served it, why, and nothing else."""
    _status, fields = heads.last()
    wanted = {
        "x-sie-served-by": side,
        "x-sie-upstream": upstream,
        "x-sie-fallback-reason": reason,
        "x-sie-fallback-error": failure,
    }
    for name, value in wanted.items():
        same(fields.get_list(name), [] if value is None else [value], name)
