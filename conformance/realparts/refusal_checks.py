"""What does a caller see when the only side that has a model cannot serve? What sie-server alone would say."""

import openai
import sie_sdk.client.errors

import clients
from pair import Pair
from report import expect, same
from validation_checks import GOOD, PATHS, verdict


def as_sie_refuses(pair, surfaces):
    """With the upstream gone: status, code and Retry-After are those of sie-server's own remote profile."""
    for surface in surfaces:
        answers = []
        for url, model in ((pair.through, pair.model), (pair.direct, pair.upstream_model)):
            path = PATHS[surface].format(model=model.replace("/", "__") if surface == "generate" else model)
            named = {"model": model} if "{model}" not in PATHS[surface] else {}
            answers.append(clients.raw(url, path, {**GOOD[surface], **named}))
        got, wanted = ((verdict(answer), answer.headers.get("retry-after")) for answer in answers)
        same(got, wanted, f"{surface}: verdict and Retry-After")
        same(answers[0].headers.get("spillway-cause"), "connect", f"{surface}: Spillway-Cause")


def forbidden(pair: Pair):
    """A caller that forbids remote serving is told so by its own SDK, and the upstream hears nothing."""
    client, heads = clients.sie(pair.through, remote="forbid")
    try:
        client.encode(pair.model, {"text": "x"})
    except sie_sdk.client.errors.RequestError as error:
        same((heads.last()[0], error.code), (400, "INVALID_INPUT"), "status and code")
    else:
        expect(False, "the call was answered; it had to be refused")
    client, _heads = clients.openai_at(pair.through)
    try:
        client.embeddings.create(model=pair.model, input="x", extra_headers={"X-SIE-Remote": "forbid"})
    except openai.BadRequestError as error:
        same(error.code, "INVALID_INPUT", "code of the OpenAI surface")
    else:
        expect(False, "the call was answered; it had to be refused")
