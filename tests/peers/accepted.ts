/** Differences that are right, each with its reason; `npm run peers -- --write` writes the reasons to docs/from-litellm.md. */

interface Accepted {
  /** A part of the names of scenarios; left out = of all. */
  readonly scenario?: RegExp
  readonly difference: RegExp
  readonly why: string
}

/** The first that fits counts. */
export const accepted: readonly Accepted[] = [
  {
    difference: /: missing here, empty there$/,
    why: 'Fields that are null or empty there because the function is not used, and that have no function here, are left out.',
  },
  {
    difference: /^header (?:llm_provider-|request-id)/,
    why: "The upstream's headers stay here: they tell of the operator's account. Its rate limits are on the page of providers.",
  },
  {
    difference:
      /^header x-litellm-(?:version|model-api-base|model-name|callback-duration-ms|timeout|cache-key|key-\w+-limit|key-max-budget)/,
    why: 'Version, addresses, upstream names and settings are not told to callers; administrators read them by API.',
  },
  {
    difference: /^header x-litellm-(?:key-spend|response-cost-)/,
    why: 'The cost of a call is `x-litellm-response-cost`; its parts are in its row of the ledger, what a key has spent in `/key/info`.',
  },
  {
    difference:
      /^header x-litellm-(?:call-id|response-cost|model-id|model-group|attempted-\w+|overhead-duration-ms|response-duration-ms)/,
    why: 'Headers about a call come with calls of models and files alone; the cost of a call of an unknown price is left out, never 0.',
  },
  {
    difference: /^header x-ratelimit-(?:api_key|model_per_key|team|user)-/,
    why: "Limits are told under OpenAI's names (`x-ratelimit-limit-requests` ...), the nearest one of all scopes, also with streams.",
  },
  {
    difference: /^body\.error\.(?:type|code|param): /,
    why: "Errors have OpenAI's form: `type` and `code` are words of its API, `param` names the field or is null; LiteLLM repeats the status in `code`.",
  },
  {
    scenario: /^messages|: (?:messages|none, for messages)/,
    difference: /^body\.error\./,
    why: "Errors of `/v1/messages` have Anthropic's form.",
  },
  {
    difference: /^status: 400 there, 404 here$/,
    why: 'What does not exist is 404: an unknown model too, as at OpenAI.',
  },
  {
    difference: /^status: 400 there, 422 here$/,
    why: 'A body whose fields are missing or wrong is 422 with one entry a field in `detail`, before anything is sent.',
  },
  {
    scenario: /^refused/,
    difference: /^status: (?:200|500) there, 4\d\d here$/,
    why: 'A body with wrong fields is refused with the name of the field, before anything is sent.',
  },
  {
    scenario: /^upstream: a key/,
    difference: /^status: 401 there, 502 here$/,
    why: "An upstream that refuses the gateway's own key is 502: a 401 would say that the caller's key is wrong.",
  },
  {
    difference: /^body\.detail(?:\[\])?(?:\.\w+)?: /,
    why: 'Every error has `error`; `detail` lists the fields that are wrong, and stands in 422 alone.',
  },
  {
    difference: /^status: 500 there, /,
    why: "What is the caller's mistake is no 500, and what works here is none either.",
  },
  {
    scenario: /^organizations/,
    difference: /^(?:status: 403 there|not comparable)/,
    why: 'Organizations need no licence.',
  },
  {
    scenario: /^key: of a blocked team/,
    difference: /^status: 200 there, 401 here$/,
    why: 'A block holds at once, on every replica within a second.',
  },
  {
    scenario: /^key: over its budget/,
    difference: /./,
    why: 'Budgets reserve before a call: the one that would go over is refused, not the one after it.',
  },
  {
    scenario: /^key: virtual, makes a key/,
    difference: /^status: 401 there, 403 here$/,
    why: 'A valid key without the right is 403.',
  },
  {
    scenario: /streamed/,
    difference:
      /^events: |^event \S+\.choices(?:\[\]\.delta\.role)?: |^event \S+\.model: |\.cost: missing here$|^event (?:text|finish)\.usage: /,
    why: "Streams have the vendor's own order: the role in a chunk of its own, the usage in a last one whose `choices` are empty, no `[DONE]` after events of Responses. Costs are in the ledger.",
  },
  {
    scenario: /^(?:embeddings|moderations|transcription|messages|responses)/,
    difference: /^body\.(?:usage\.|results|language|task|duration|segments|litellm_count_source)/,
    why: "Answers have the vendor's fields; those that LiteLLM adds (empty lists, names in other spelling, `completion_tokens` of embeddings) are not added.",
  },
  {
    scenario: /^messages: of an OpenAI model/,
    difference: /^status: 400 there, 200 here$/,
    why: 'Every API works with every model; the answer of `/v1/messages` does not need `/responses` at the upstream.',
  },
  {
    difference: /\.tool_calls\[\]\.index: missing here$/,
    why: 'Calls of tools in whole answers have no `index`, as at OpenAI.',
  },
  {
    difference: /^body\.count_source: missing here$/,
    why: '`tokenizer_type` says how tokens were counted.',
  },
  {
    scenario: /^threads/,
    difference: /./,
    why: 'Threads and assistants are kept by the gateway and run on any model.',
  },
  {
    scenario: /activity/,
    difference:
      /\.(?:total_)?(?:flat_cost|ptu_hours|compression_\w+|prompt_caching_savings_spend|gateway_injected_\w+|autorouter_\w+|response_time_ms|total_response_time_ms|timed_requests): missing here$/,
    why: 'Savings of functions that are not here are not reported; durations are at `/model/latency`.',
  },
]

/** The reason; undefined = the difference is a mistake until it is looked at. */
export function reasonFor(scenario: string, difference: string): string | undefined {
  return accepted.find(one => (one.scenario?.test(scenario) ?? true) && one.difference.test(difference))?.why
}
