"""LiteLLM's client for its proxy (litellm.proxy.client) against a gateway: every call that it has, with the master key."""

import json
import os
import sys
import traceback

from litellm.proxy.client import Client
from litellm.proxy.client.health import HealthManagementClient
from litellm.proxy.client.users import UsersManagementClient

URL, KEY, MODEL = os.environ["GATEWAY_URL"], os.environ["GATEWAY_KEY"], os.environ["MODEL"]
client = Client(base_url=URL, api_key=KEY)
users = UsersManagementClient(base_url=URL, api_key=KEY)
health = HealthManagementClient(base_url=URL, api_key=KEY)
made = {}


def expect(holds, seen):
    if not holds:
        raise AssertionError(json.dumps(seen, default=str)[:400])


def run(name, case):
    try:
        case()
        outcome, detail = "ok", ""
    except Exception as error:
        outcome, detail = "failed", f"{type(error).__name__}: {error}"[:400]
        traceback.print_exc(file=sys.stderr)
    print(json.dumps({"client": "litellm.proxy", "model": "-", "case": name, "outcome": outcome, "detail": detail}))


def models_list():
    found = client.models.list()
    expect(any(one["id"] == MODEL for one in found), found)


def models_new():
    params = {"model": "openai/gpt-4o", "api_key": "sk-upstream-of-a-test", "timeout": 30}
    answer = client.models.new("made-by-client", params, {"id": "made-by-client-1"})
    expect(answer["model_id"] == "made-by-client-1", answer)


def models_get():
    answer = client.models.get(model_id="made-by-client-1")
    expect(answer["model_name"] == "made-by-client", answer)


def models_info():
    answer = client.models.info()
    expect(any(one["model_info"]["id"] == "made-by-client-1" for one in answer), answer)


def models_update():
    # The proxy itself wants the id in model_info, too.
    client.models.update("made-by-client-1", {"model": "openai/gpt-4o-mini"}, {"id": "made-by-client-1"})
    answer = client.models.get(model_id="made-by-client-1")
    expect(answer["litellm_params"]["model"] == "openai/gpt-4o-mini", answer)


def models_delete():
    client.models.delete("made-by-client-1")
    expect(all(one["id"] != "made-by-client" for one in client.models.list()), "still listed")


def model_groups_info():
    answer = client.model_groups.info()
    expect(any(one["model_group"] == MODEL for one in answer), answer)


def chat_completions():
    answer = client.chat.completions(MODEL, [{"role": "user", "content": "hi"}], max_tokens=50)
    expect(answer["choices"][0]["message"]["content"] != "", answer)


def chat_stream():
    pieces = list(client.chat.completions_stream(MODEL, [{"role": "user", "content": "hi"}], max_tokens=50))
    expect(len(pieces) > 1, pieces)


def keys_generate():
    answer = client.keys.generate(models=[MODEL], aliases={"mine": MODEL}, duration="1h", key_alias="by-client")
    made["key"] = answer["key"]
    expect(answer["key"].startswith("sk-"), answer)


def keys_info():
    answer = client.keys.info(made["key"])
    expect(answer["info"]["key_alias"] == "by-client", answer)


def keys_list():
    answer = client.keys.list(key_alias="by-client", return_full_object=True)
    expect(answer["total_count"] == 1, answer)


def keys_update():
    answer = client.keys.update(made["key"], key_alias="renamed")
    expect(answer["key_alias"] == "renamed", answer)


def keys_delete():
    answer = client.keys.delete(keys=[made["key"]])
    expect(len(answer["deleted_keys"]) == 1, answer)


def credentials_create():
    answer = client.credentials.create("by-client", {"custom_llm_provider": "openai"}, {"api_key": "sk-upstream"})
    expect(answer["success"] is True, answer)


def credentials_list():
    answer = client.credentials.list()
    expect(any(one["credential_name"] == "by-client" for one in answer["credentials"]), answer)


def credentials_get():
    answer = client.credentials.get("by-client")
    expect(answer["credential_name"] == "by-client", answer)


def credentials_delete():
    client.credentials.delete("by-client")
    expect(all(one["credential_name"] != "by-client" for one in client.credentials.list()["credentials"]), "listed")


def teams_list():
    expect(isinstance(client.teams.list(), list), "no list")


def teams_list_v2():
    answer = client.teams.list_v2(page=1, page_size=10)
    expect("teams" in answer, answer)


def teams_get_available():
    expect(client.teams.get_available() == [], "some")


def users_create():
    answer = users.create_user({"user_id": "by-client", "user_email": "by.client@example.com"})
    expect(answer["user_id"] == "by-client", answer)


def users_list():
    answer = users.list_users({"user_ids": "by-client"})
    expect(any(one["user_id"] == "by-client" for one in answer), answer)


def users_get():
    answer = users.get_user("by-client")
    expect(answer["user_id"] == "by-client", answer)


def users_get_v2():
    answer = users.get_user_v2("by-client")
    expect(answer["user_id"] == "by-client", answer)


def users_delete():
    users.delete_user(["by-client"])


def health_readiness():
    answer = health.get_readiness()
    expect(answer["status"] in ("healthy", "connected"), answer)


def health_version():
    # None = it is not available: the gateway has a version of its own.
    expect(health.get_server_version() is None, "a version of LiteLLM")


def http_request():
    answer = client.http.request("GET", "/v1/models")
    expect(answer["object"] == "list", answer)


CASES = [
    models_list, models_new, models_get, models_info, models_update, models_delete, model_groups_info,
    chat_completions, chat_stream, keys_generate, keys_info, keys_list, keys_update, keys_delete,
    credentials_create, credentials_list, credentials_get, credentials_delete,
    teams_list, teams_list_v2, teams_get_available,
    users_create, users_list, users_get, users_get_v2, users_delete,
    health_readiness, health_version, http_request,
]
for case in CASES:
    run(case.__name__, case)
