/**
 * Differences that are right, each with its reason; `npm run peers -- --write` writes the reasons to
 * docs/from-litellm.md.
 */

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
  {
    difference:
      /\.(?:text_tokens|cache_write_tokens|cache_creation_\w+|cache_read_input_tokens|service_tier|provider_specific_fields): missing here$|^body\.provider_specific_fields: missing here$/,
    why: "Counts of an upstream's cache come where its cache was at work; fields of one vendor are not in answers of another's form.",
  },
  {
    scenario: /^key: over its requests/,
    difference: /^status: 200 there, 429 here$/,
    why: 'A limit of one request a minute refuses the second one; LiteLLM lets some through.',
  },
  {
    scenario: /^refused: empty body/,
    difference: /^not comparable/,
    why: 'LiteLLM closes the connection; here it is 400.',
  },
  {
    difference:
      /(?:^body|\[\]|\.info|\.data|\.team_info|\.metadata)\.(?:router_settings|key_type|key_name|service_account_id|soft_budget_cooldown|total_spend|rotation_count|settings_updated_at|status|team_blocked|is_session_token|size|allow_team_guardrail_config|caller_edit_access|key_exists|last_active|auto_rotate|key_aliases|members_count|keys_count|key_count|team_alias): missing here$/,
    why: 'Fields of its pages, and of functions that are not here, are left out; `spend` is what a key has spent in all.',
  },
  {
    scenario: /^teams/,
    difference:
      /members_with_roles(?:\[\]\.role)?: |team_memberships: |updated_(?:users|team_memberships)\[\]\.|^body\[\]\.keys: missing here$/,
    why: 'Who makes a team is no member of it; lists of teams have no keys (`/key/list?team_id=`), answers name users without their details.',
  },
  {
    scenario: /^(?:teams|users): delete/,
    difference: /^body/,
    why: 'What was deleted is told as an object with names.',
  },
  {
    scenario: /^(?:customers|budgets)/,
    difference:
      /\.litellm_budget_table\.created_at: |^body\[\]\.(?:field_type|stored_in_db|premium_field|source|editable): /,
    why: 'Budgets of their own have no row of their own; the settings of a budget are their names and values.',
  },
  {
    scenario: /^models/,
    difference:
      /\.(?:allow_client_keepalive_override|use_\w+|merge_reasoning_content_in_choices|member_auto_router|access_via_team_ids|direct_access|supports_url_context|supports_fast_mode|supported_openai_params): missing here$/,
    why: 'Switches of LiteLLM that are off are left out; the parameters of a model are at `/utils/supported_openai_params` and `/model_group/info`.',
  },
  {
    scenario: /^spend: logs/,
    difference:
      /\.(?:api_base|cache_key|messages|response|proxy_server_request|agent_id|billing_agent_id|mcp_namespaced_tool_name|litellm_call_id|created_at|updated_at|session_\w+): missing here$|\.metadata\.\w+: missing here$|: (?:string|object) there, null here$/,
    why: 'Rows of the ledger are without what was said (`/spend/logs/{request_id}/bodies`), addresses of upstreams and fields of functions that are not here; what is not known is null.',
  },
  {
    scenario: /^spend: (?:keys|users|global)/,
    difference:
      /^body\[\]\.(?:created_\w+|updated_\w+|teams|user_role|daily_data\[\]\.model_group): missing here$|Unassigned: missing here$|^status: (?:400 there, 200|200 there, 404) here$/,
    why: 'Reports have sums, not the objects; `/global/spend/report` needs no licence, `/customer/daily/activity` has the sums of end users.',
  },
  {
    scenario: /activity/,
    difference: /breakdown\.entities: empty here$/,
    why: 'Parts by entity are in the reports of teams, organizations, tags and customers.',
  },
  {
    scenario: /^(?:health: latest|other: )/,
    difference: /^status: 200 there, 404 here$|^status: 401 there, 200 here$/,
    why: 'A deployment is judged by its calls (`/health`); prices by `modelgate prices`; callbacks are not there; `/metrics` needs a key where the operator says so.',
  },
  {
    scenario: /^(?:key|keys): (?:expired|without the model|of a team without the model|update of none)/,
    difference: /^status: 40[01] there, 40[134] here$/,
    why: 'A key that has ended is 401, one that may not call the model 403, what is not there 404; LiteLLM says so, too, since 1.83.',
  },
  {
    scenario: /^(?:speech: wav|gemini|responses: of Claude)/,
    difference: /^header content-type: |^body\.(?:text|object): /,
    why: 'Answers have the form that was asked for; LiteLLM 1.82 answers some in another.',
  },
  {
    scenario: /^(?:refused: body that is a list|key: none|batches: (?:none|without a file))/,
    difference: /^body: string there, object here$/,
    why: 'Every error is JSON.',
  },
  {
    scenario: /^(?:batches: one|keys: generate$)/,
    difference: /^not comparable/,
    why: 'LiteLLM 1.82 fails in such a call.',
  },
  {
    scenario: /^(?:customers|organizations)/,
    difference:
      /\.(?:created|updated)_(?:by|at): missing here$|\.updated_(?:users|organization_memberships)\[\]\.|^body\[\]\.spend: missing here$/,
    why: 'Answers to changes name what was changed, without all details of what belongs to it.',
  },
  {
    scenario: /^health|^other: metrics/,
    difference:
      /^body\.(?:litellm_version|success_callbacks|use_aiohttp_transport|log_level|is_detailed_debug|healthy_endpoints\[\]\.\w+): missing here|^status: 404 there, 200 here$/,
    why: 'Probes say nothing about the program to strangers, and health nothing of switches that are off.',
  },
]

/** The reason; undefined = the difference is a mistake until it is looked at. */
export function reasonFor(scenario: string, difference: string): string | undefined {
  return accepted.find(one => (one.scenario?.test(scenario) ?? true) && one.difference.test(difference))?.why
}
