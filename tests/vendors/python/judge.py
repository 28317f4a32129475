"""Reads captures, one JSON object a line, and writes a verdict a line: {id, referee, deviations}.

Each body is judged by the package that its vendor publishes for Python; captures of hosts without one get no line.
"""

import functools
import importlib
import json
import re
import sys
import typing
import urllib.parse

import botocore.session
import botocore.validate
import pydantic
from typed_dicts import deviations

REPORTED_MAX = 20

# Type hints of request bodies, by provider: the package and where it describes a chat.
TYPED = {
    "anthropic": ("anthropic", "anthropic.types.message_create_params", "MessageCreateParams"),
    "cerebras": ("cerebras_cloud_sdk", "cerebras.cloud.sdk.types.chat.completion_create_params", "CompletionCreateParams"),
    "fireworks_ai": ("fireworks-ai", "fireworks.types.chat.completion_create_params", "CompletionCreateParams"),
    "groq": ("groq", "groq.types.chat.completion_create_params", "CompletionCreateParams"),
    "together_ai": ("together", "together.types.chat.completion_create_params", "CompletionCreateParams"),
}


def judge(capture):
    """The verdict of one capture as (referee, deviations); None = no package judges it."""
    path, provider, body = capture["path"].split("?")[0], capture["provider"], capture["body"]
    if provider == "bedrock":
        return judge_converse(path, body)
    if path.endswith("awPredict"):
        version = {name: one for name, one in body.items() if name != "anthropic_version"}
        return judge_typed("anthropic", {"model": capture["model"], **version})
    if re.search(r":(stream)?[gG]enerateContent$", path):
        return "google-genai", gemini_deviations(body)
    if provider == "mistral":
        return "mistralai", model_deviations(mistral_request(body), body)
    if provider == "cohere":
        return "cohere", cohere_deviations(body)
    if provider == "perplexity" and path.endswith("/responses"):
        module = importlib.import_module("perplexity.types.response_create_params")
        return "perplexityai", deviations(module.ResponseCreateParams, body)
    if provider in TYPED and path.endswith(("/chat/completions", "/messages")):
        return judge_typed(provider, body)
    return None


def judge_typed(provider, body):
    package, module, name = TYPED[provider]
    return package, deviations(getattr(importlib.import_module(module), name), body)


@functools.cache
def converse_shapes():
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return {name: model.operation_model(name).input_shape for name in ("Converse", "ConverseStream")}


def judge_converse(path, body):
    _, model, operation = path.strip("/").rsplit("/", 2)
    shape = converse_shapes()["ConverseStream" if operation == "converse-stream" else "Converse"]
    report = botocore.validate.ParamValidator().validate({"modelId": urllib.parse.unquote(model), **body}, shape)
    unknown = [f"/{name} is not known" for name in body if name not in shape.members]
    return "botocore", unknown + ([report.generate_report()] if report.has_errors() else [])


def mistral_request(body):
    from mistralai.client import models

    return models.ChatCompletionStreamRequest if body.get("stream") else models.ChatCompletionRequest


def model_deviations(model, body):
    """By a pydantic model: what it refuses, and the fields that it would leave out."""
    try:
        read = model.model_validate(body)
    except pydantic.ValidationError as error:
        return [f"/{'/'.join(map(str, one['loc']))} {one['msg']}" for one in error.errors()]
    return lost_fields(body, json.loads(read.model_dump_json(by_alias=True)), "")


def lost_fields(sent, kept, path):
    if isinstance(sent, dict) and isinstance(kept, dict):
        lost = [f"{path}/{name} is not known" for name in sent if name not in kept]
        return lost + [one for name in sent if name in kept for one in lost_fields(sent[name], kept[name], f"{path}/{name}")]
    if isinstance(sent, list) and isinstance(kept, list):
        return [one for at, (mine, theirs) in enumerate(zip(sent, kept)) for one in lost_fields(mine, theirs, f"{path}/{at}")]
    return []


def gemini_deviations(body):
    from google.genai import types

    class Settings(types.GenerationConfig):
        # Among the settings of a call in the package, and inside of this object on the wire.
        image_config: typing.Optional[types.ImageConfig] = None

    parts = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "safetySettings": list[types.SafetySetting],
        "generationConfig": Settings,
        "cachedContent": str,
        "serviceTier": str,
        "labels": dict[str, str],
    }
    found = []
    for name, value in body.items():
        if name not in parts:
            found.append(f"/{name} is not known")
            continue
        try:
            pydantic.TypeAdapter(parts[name]).validate_json(json.dumps(value))
        except pydantic.ValidationError as error:
            found += [f"/{name}/{'/'.join(map(str, one['loc']))} {one['msg']}" for one in error.errors()]
    return found


def cohere_deviations(body):
    import cohere

    parts = {
        "messages": typing.List[cohere.ChatMessageV2],
        "tools": typing.List[cohere.ToolV2],
        "response_format": cohere.ResponseFormatV2,
        "thinking": cohere.Thinking,
    }
    known = {*cohere.ClientV2.chat.__annotations__, "stream"}
    found = [f"/{name} is not known" for name in body if name not in known]
    for name, hint in parts.items():
        if name not in body:
            continue
        try:
            pydantic.TypeAdapter(hint).validate_python(body[name])
        except pydantic.ValidationError as error:
            found += [f"/{name}/{'/'.join(map(str, one['loc']))} {one['msg']}" for one in error.errors()]
    return found


def main():
    for line in sys.stdin:
        capture = json.loads(line)
        verdict = judge(capture)
        if verdict is not None:
            referee, found = verdict
            print(json.dumps({"id": capture["id"], "referee": referee, "deviations": found[:REPORTED_MAX]}))


if __name__ == "__main__":
    main()
