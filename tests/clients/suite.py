"""Python's clients against a gateway. Prints one line of JSON for each client, model and case.

GATEWAY_URL, GATEWAY_KEY: where to call. MODELS, RUNNER_MODELS: names of chat models, apart by commas: for
all cases, and for the tool runner. EMBEDDINGS: name of one more.
"""

import base64
import json
import os

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
MODELS = os.environ["MODELS"].split(",")
EMBEDDINGS = os.environ["EMBEDDINGS"]
RUNNER_MODELS = os.environ["RUNNER_MODELS"].split(",")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DATA_URL = "data:image/png;base64," + PIXEL
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
SAY = "say: hello world"
TOOL_WISH = "use the tool"
LONG = "tokens: 60"


def run(client, model, name, case):
    try:
        case()
        outcome, detail = "ok", ""
    except Exception as error:  # The table names what went wrong; the next case runs all the same.
        outcome, detail = "failed", f"{type(error).__name__}: {error}"[:400]
    print(json.dumps({"client": client, "model": model, "case": name, "outcome": outcome, "detail": detail}), flush=True)


def expect(condition, seen):
    if not condition:
        raise AssertionError(f"got {seen!r}")


def raises(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


def openai_cases(model):
    import openai

    client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    create = client.chat.completions.create
    user = [{"role": "user", "content": SAY}]
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]

    def chat():
        text = create(model=model, messages=user).choices[0].message.content
        expect(text == "hello world", text)

    def stream():
        text = "".join(
            chunk.choices[0].delta.content or "" for chunk in create(model=model, messages=user, stream=True) if chunk.choices
        )
        expect(text == "hello world", text)

    def use_tools():
        asked = [{"role": "user", "content": TOOL_WISH}]
        message = create(model=model, messages=asked, tools=tools).choices[0].message
        call = message.tool_calls[0]
        expect("city" in json.loads(call.function.arguments), call)
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        text = create(model=model, messages=[*asked, message, result], tools=tools).choices[0].message.content
        expect("sunny" in text, text)

    def images():
        parts = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": DATA_URL}}]
        text = create(model=model, messages=[{"role": "user", "content": parts}]).choices[0].message.content
        expect("1 image" in text, text)

    def structured():
        form = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMA}}
        asked = [{"role": "user", "content": "a city"}]
        text = create(model=model, messages=asked, response_format=form).choices[0].message.content
        expect("city" in json.loads(text), text)

    def embeddings():
        vectors = client.embeddings.create(model=EMBEDDINGS, input=["a", "b"]).data
        expect(len(vectors) == 2 and len(vectors[0].embedding) > 10, vectors)

    def errors():
        raises(openai.NotFoundError, lambda: create(model="no-such-model", messages=user))
        other = openai.OpenAI(base_url=URL + "/v1", api_key="sk-wrong", max_retries=0)
        raises(openai.AuthenticationError, lambda: other.chat.completions.create(model=model, messages=user))
        raises(openai.RateLimitError, lambda: create(model=model + "-limited", messages=user))

    def cut():
        long = [{"role": "user", "content": LONG}]
        raises(openai.APIError, lambda: list(create(model=model + "-cut", messages=long, stream=True)))

    return [chat, stream, use_tools, images, structured, embeddings, errors, cut]


def anthropic_cases(model):
    import anthropic

    client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    asked = {"model": model, "max_tokens": 500}
    user = [{"role": "user", "content": SAY}]
    tools = [{"name": "get_weather", "input_schema": SCHEMA}]

    def text_of(message):
        return "".join(block.text for block in message.content if block.type == "text")

    def chat():
        text = text_of(client.messages.create(**asked, messages=user))
        expect(text == "hello world", text)

    def stream():
        with client.messages.stream(**asked, messages=user) as events:
            text = "".join(events.text_stream)
        expect(text == "hello world", text)

    def use_tools():
        first = [{"role": "user", "content": TOOL_WISH}]
        message = client.messages.create(**asked, messages=first, tools=tools)
        call = next(block for block in message.content if block.type == "tool_use")
        expect("city" in call.input, call)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
        turns = [*first, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        text = text_of(client.messages.create(**asked, messages=turns, tools=tools))
        expect("sunny" in text, text)

    def images():
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        parts = [{"type": "image", "source": source}, {"type": "text", "text": "what is it?"}]
        text = text_of(client.messages.create(**asked, messages=[{"role": "user", "content": parts}]))
        expect("1 image" in text, text)

    def structured():
        config = {"format": {"type": "json_schema", "schema": SCHEMA}}
        first = [{"role": "user", "content": "a city"}]
        text = text_of(client.messages.create(**asked, messages=first, output_config=config))
        expect("city" in json.loads(text), text)

    def errors():
        raises(
            anthropic.NotFoundError,
            lambda: client.messages.create(model="no-such-model", max_tokens=5, messages=user),
        )
        other = anthropic.Anthropic(base_url=URL, api_key="sk-wrong", max_retries=0)
        raises(anthropic.AuthenticationError, lambda: other.messages.create(**asked, messages=user))
        raises(
            anthropic.RateLimitError,
            lambda: client.messages.create(model=model + "-limited", max_tokens=5, messages=user),
        )

    def cut():
        long = [{"role": "user", "content": LONG}]
        raises(
            anthropic.APIError,
            lambda: list(client.messages.create(model=model + "-cut", max_tokens=500, messages=long, stream=True)),
        )

    return [chat, stream, use_tools, images, structured, errors, cut]


def tool_runner_cases(model):
    import anthropic

    client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    cities = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Tells the weather of a city.

        Args:
            city: Its name.
        """
        cities.append(city)
        return "sunny"

    def runs(**more):
        cities.clear()
        first = [{"role": "user", "content": TOOL_WISH}]
        runner = client.beta.messages.tool_runner(
            model=model, max_tokens=2000, messages=first, tools=[get_weather], **more
        )
        last = runner.until_done()
        text = "".join(block.text for block in last.content if block.type == "text")
        expect("sunny" in text and len(cities) == 1, (text, cities))

    def whole():
        runs()

    def streamed():
        runs(stream=True)

    return [whole, streamed]


def google_cases(model):
    from google import genai
    from google.genai import errors as google_errors
    from google.genai import types

    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL))
    generate = client.models.generate_content
    declared = types.FunctionDeclaration(name="get_weather", parameters_json_schema=SCHEMA)
    off = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declared])], automatic_function_calling=off
    )

    def chat():
        text = generate(model=model, contents=SAY).text
        expect(text == "hello world", text)

    def stream():
        text = "".join(chunk.text or "" for chunk in client.models.generate_content_stream(model=model, contents=SAY))
        expect(text == "hello world", text)

    def use_tools():
        first = types.Content(role="user", parts=[types.Part(text=TOOL_WISH)])
        answer = generate(model=model, contents=[first], config=config)
        call = answer.function_calls[0]
        expect("city" in call.args, call)
        result = types.FunctionResponse(id=call.id, name=call.name, response={"result": "sunny"})
        turns = [first, answer.candidates[0].content, types.Content(role="user", parts=[types.Part(function_response=result)])]
        text = generate(model=model, contents=turns, config=config).text
        expect("sunny" in text, text)

    def images():
        picture = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
        text = generate(model=model, contents=[picture, "what is it?"]).text
        expect("1 image" in text, text)

    def structured():
        wanted = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=SCHEMA)
        text = generate(model=model, contents="a city", config=wanted).text
        expect("city" in json.loads(text), text)

    def embeddings():
        vectors = client.models.embed_content(model=EMBEDDINGS, contents=["a", "b"]).embeddings
        expect(len(vectors) == 2 and len(vectors[0].values) > 10, vectors)

    def errors():
        raises(google_errors.ClientError, lambda: generate(model="no-such-model", contents=SAY))
        raises(google_errors.ClientError, lambda: generate(model=model + "-limited", contents=SAY))

    def cut():
        long = client.models.generate_content_stream(model=model + "-cut", contents=LONG)
        raises(google_errors.APIError, lambda: list(long))

    return [chat, stream, use_tools, images, structured, embeddings, errors, cut]


def langchain_openai_cases(model):
    import openai
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    made = {"base_url": URL + "/v1", "api_key": KEY, "max_retries": 0}

    def embeddings():
        # Its default sends token ids, which need a vocabulary from the network.
        maker = OpenAIEmbeddings(model=EMBEDDINGS, check_embedding_ctx_length=False, **made)
        vectors = maker.embed_documents(["a", "b"])
        expect(len(vectors) == 2 and len(vectors[0]) > 10, vectors)

    cases = langchain_cases(lambda name: ChatOpenAI(model=name, **made), model, openai.RateLimitError)
    return [*cases, embeddings]


def langchain_responses_cases(model):
    import openai
    from langchain_openai import ChatOpenAI

    made = {"base_url": URL + "/v1", "api_key": KEY, "max_retries": 0, "use_responses_api": True}
    return langchain_cases(lambda name: ChatOpenAI(model=name, **made), model, openai.RateLimitError)


def langchain_anthropic_cases(model):
    import anthropic
    from langchain_anthropic import ChatAnthropic

    made = {"base_url": URL, "api_key": KEY, "max_retries": 0, "max_tokens": 2000}
    return langchain_cases(lambda name: ChatAnthropic(model=name, **made), model, anthropic.RateLimitError)


def langchain_google_cases(model):
    from langchain_google_genai import ChatGoogleGenerativeAI
    from langchain_google_genai.chat_models import ChatGoogleGenerativeAIError

    made = {"base_url": URL, "google_api_key": KEY, "max_retries": 0}
    return langchain_cases(
        lambda name: ChatGoogleGenerativeAI(model=name, **made), model, ChatGoogleGenerativeAIError
    )


def langchain_cases(client_of, model, limit_error):
    client = client_of(model)
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}

    def chat():
        text = client.invoke(SAY).text
        expect(text == "hello world", text)

    def stream():
        text = "".join(chunk.text for chunk in client.stream(SAY))
        expect(text == "hello world", text)

    def use_tools():
        from langchain_core.messages import HumanMessage, ToolMessage

        bound = client.bind_tools([tool])
        first = HumanMessage(TOOL_WISH)
        message = bound.invoke([first])
        call = message.tool_calls[0]
        expect("city" in call["args"], call)
        result = ToolMessage("sunny", tool_call_id=call["id"], name=call["name"])
        text = bound.invoke([first, message, result]).text
        expect("sunny" in text, text)

    def images():
        parts = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": DATA_URL}}]
        text = client.invoke([{"role": "user", "content": parts}]).text
        expect("1 image" in text, text)

    def structured():
        wanted = client.with_structured_output({"title": "place", **SCHEMA}, method="json_schema")
        answer = wanted.invoke("a city")
        expect("city" in answer, answer)

    def errors():
        raises(limit_error, lambda: client_of(model + "-limited").invoke(SAY))

    def cut():
        raises(Exception, lambda: list(client_of(model + "-cut").stream(LONG)))

    return [chat, stream, use_tools, images, structured, errors, cut]


def litellm_cases(model):
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    made = {"api_base": URL + "/v1", "api_key": KEY, "num_retries": 0}
    named = "openai/" + model
    user = [{"role": "user", "content": SAY}]
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]

    def ask(messages, **more):
        return litellm.completion(model=named, messages=messages, **made, **more)

    def chat():
        text = ask(user).choices[0].message.content
        expect(text == "hello world", text)

    def stream():
        text = "".join(chunk.choices[0].delta.content or "" for chunk in ask(user, stream=True))
        expect(text == "hello world", text)

    def use_tools():
        first = [{"role": "user", "content": TOOL_WISH}]
        message = ask(first, tools=tools).choices[0].message
        call = message.tool_calls[0]
        expect("city" in json.loads(call.function.arguments), call)
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        text = ask([*first, message, result], tools=tools).choices[0].message.content
        expect("sunny" in text, text)

    def images():
        parts = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": DATA_URL}}]
        text = ask([{"role": "user", "content": parts}]).choices[0].message.content
        expect("1 image" in text, text)

    def structured():
        form = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMA}}
        text = ask([{"role": "user", "content": "a city"}], response_format=form).choices[0].message.content
        expect("city" in json.loads(text), text)

    def embeddings():
        answer = litellm.embedding(model="openai/" + EMBEDDINGS, input=["a", "b"], encoding_format="float", **made)
        expect(len(answer.data) == 2, answer)

    def errors():
        raises(
            litellm.NotFoundError, lambda: litellm.completion(model="openai/no-such-model", messages=user, **made)
        )
        raises(
            litellm.RateLimitError, lambda: litellm.completion(model=named + "-limited", messages=user, **made)
        )

    return [chat, stream, use_tools, images, structured, embeddings, errors]


CLIENTS = {
    "openai": openai_cases,
    "anthropic": anthropic_cases,
    "google-genai": google_cases,
    "langchain openai": langchain_openai_cases,
    "langchain responses": langchain_responses_cases,
    "langchain anthropic": langchain_anthropic_cases,
    "langchain google": langchain_google_cases,
    "litellm": litellm_cases,
}


def run_all(client, cases, models):
    for model in models:
        try:
            made = cases(model)
        except Exception as error:  # A client that cannot be made fails as a whole.
            message = f"{type(error).__name__}: {error}"[:400]
            print(json.dumps({"client": client, "model": model, "case": "start", "outcome": "failed", "detail": message}))
            continue
        for case in made:
            run(client, model, case.__name__, case)


for client, cases in CLIENTS.items():
    run_all(client, cases, MODELS)
run_all("tool runner", tool_runner_cases, RUNNER_MODELS)
