/** Spending and usage: rows of the ledger, and sums of them. */
import { spendLogSchema } from '../spend/spend-logs.ts'
import { blockFacts } from './configured-schemas.ts'
import {
  anyObject,
  boolean,
  constant,
  dateTime,
  described,
  either,
  integer,
  listOf,
  mapOf,
  nullable,
  oneOf,
  number,
  open,
  reference,
  shape,
  text,
} from './schema.ts'
import type { Properties, Schema } from './schema.ts'

const usd = described('Dollars; without the calls whose cost is not known.', number)
const maybeUsd = nullable(described('Dollars.', number))
const unpriced = described('Calls of upstreams whose cost is not known.', integer)
const day = described('2026-11-21, in UTC.', text)

const metricNames = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'total_tokens',
  'successful_requests',
  'failed_requests',
  'api_requests',
]
const metrics = shape({
  spend: usd,
  ...Object.fromEntries(metricNames.map(name => [name, integer])),
  unpriced_requests: unpriced,
})
const keyPart = shape({ metrics, metadata: anyObject })
const keyParts = described("By the keys' hashes.", mapOf(keyPart))
const parts = mapOf(shape({ metrics, metadata: anyObject, api_key_breakdown: keyParts }))

const dailyActivity = shape({
  results: listOf(
    shape({
      date: day,
      metrics,
      breakdown: shape({
        models: described('By what upstreams call them.', parts),
        model_groups: described('By their public names.', parts),
        providers: parts,
        endpoints: parts,
        deployments: described('By their ids, in reports of users; empty elsewhere, and without parts by key.', parts),
        mcp_servers: parts,
        api_keys: keyParts,
        entities: parts,
      }),
    }),
  ),
  metadata: open(
    shape({
      total_spend: usd,
      total_tokens: integer,
      total_api_requests: integer,
      page: integer,
      total_pages: integer,
      has_more: boolean,
      breakdown_complete: described(
        'false = of keys and entities the most expensive ones are listed, and the others in `other`.',
        boolean,
      ),
    }),
  ),
})

const spent: Properties = { spend: usd, total_tokens: integer, api_requests: integer, unpriced_requests: unpriced }
const keyOwner: Properties = { key_name: nullable(text), key_alias: nullable(text) }
const costs: Properties = { total_cost: usd, total_input_tokens: integer, total_output_tokens: integer }

const activity: Properties = {
  daily_data: listOf(shape({ date: described('Nov 21', text), api_requests: integer, total_tokens: integer })),
  sum_api_requests: integer,
  sum_total_tokens: integer,
}

const milliseconds = nullable(described('Milliseconds; null = no call was counted.', number))
const percentiles: Properties = { calls: integer, p50_ms: milliseconds, p95_ms: milliseconds, p99_ms: milliseconds }
const latency: Properties = {
  ...percentiles,
  first_byte: described('Of the calls that were streamed: until the first byte of the answer.', shape(percentiles)),
}

/** Which deployment: the first fields of what is reported of it. */
const deploymentNames: Properties = { model_id: text, model_name: text, model: text, mode: text }

/** By name. */
export const spendSchemas: Readonly<Record<string, Schema>> = {
  SpendLog: spendLogSchema,
  SpendLogDetail: {
    ...spendLogSchema,
    properties: {
      ...spendLogSchema.properties,
      messages: described("The request's; null = it has none, or is not stored.", {}),
      response: described('JSON, also of a stream, or the text of another answer; null = it is not stored.', {}),
      proxy_server_request: nullable(shape({ body: {}, headers: anyObject })),
    },
    required: [...spendLogSchema.required, 'messages', 'response', 'proxy_server_request'],
  },
  SpendLogs: shape(
    { data: listOf(reference('SpendLog')), next_cursor: nullable(text) },
    {
      total: described('Rows of all pages; this and what follows are absent with a cursor.', integer),
      total_is_capped: described('There are more than `total`: follow `next_cursor`.', boolean),
      sorted_from: described(
        'With `sort_by`: only calls that began from here on are in order, as there are over 40,000; null = all.',
        nullable(dateTime),
      ),
      page: integer,
      page_size: integer,
      total_pages: described('Of `total`.', integer),
    },
  ),
  AllSpendLogs: described(
    'Rows, newest first; with both dates and without `summarize=false`: days, oldest first.',
    either(
      listOf(reference('SpendLog')),
      listOf(
        described(
          'Dollars of keys stand under their hashes, `other` = what is not listed of very many.',
          open(shape({ startTime: day, spend: usd, users: mapOf(number), models: mapOf(number) })),
        ),
      ),
    ),
  ),
  SpendLogEvent: described(
    '`rows`: new calls, newest first. `reload`: calls may be missing before, read `/spend/logs/v2`. `error`, `done`.',
    either(
      shape({}, { data: listOf({ $ref: '#/components/schemas/SpendLog' }) }),
      reference('Error'),
      constant('[DONE]'),
    ),
  ),
  ModelLatency: described(
    'Of calls that an upstream answered in full.',
    shape({
      start_date: described('Of the first hour or day that is counted.', text),
      end_date: described('Exclusive.', text),
      error_share: described('By which share of itself a percentile may be wrong, from 1 ms to 44 minutes.', number),
      total: shape(latency),
      groups: listOf(shape({ model: nullable(text), model_id: nullable(text), date: nullable(text), ...latency })),
    }),
  ),
  DeploymentHistory: shape({
    start_date: text,
    end_date: text,
    deployments: listOf(
      shape({
        ...deploymentNames,
        is_cooling_down: described('The replica that answers passes it over now.', boolean),
        ...blockFacts,
        requests: integer,
        failed_requests: integer,
        requests_by_day: described('From `start_date` on.', listOf(integer)),
        failed_by_day: listOf(integer),
        latency: described('Of the last 24 hours.', shape(latency)),
      }),
    ),
  }),
  ProviderList: shape({
    providers: listOf(
      shape({
        provider: described('Stands before the slash of a `model`.', text),
        base_url: described('null = `api_base` has to be given.', nullable(text)),
        key_variables: described(
          'Of the environment; the first that is set has the key of models without one.',
          listOf(text),
        ),
        needs_key: boolean,
      }),
    ),
  }),
  ProviderHealth: shape({
    providers: listOf(
      shape({
        provider: text,
        deployments: listOf(
          shape({
            ...deploymentNames,
            credential_name: described('The credential whose key it uses.', nullable(text)),
            has_key: boolean,
            ...blockFacts,
            cooldowns: described(
              'At the replica that answers, as all below. A pattern has one for each model.',
              listOf(shape({ model: text, until: dateTime })),
            ),
            rate_limits: described(
              'Of the account at its provider, as headers of the last answer gave them.',
              listOf(
                shape({
                  kind: oneOf('requests', 'tokens', 'input_tokens', 'output_tokens'),
                  limit: nullable(integer),
                  remaining: nullable(integer),
                  resets_at: described('When all of it is there again.', nullable(dateTime)),
                }),
              ),
            ),
            rate_limits_at: described('When that answer came; null = none named limits.', nullable(dateTime)),
            last_error: described(
              'The last failure that was its own; another deployment may have answered the call.',
              nullable(shape({ at: dateTime, code: text, message: text })),
            ),
          }),
        ),
      }),
    ),
  }),
  Overview: shape({
    start_date: text,
    end_date: text,
    now: metrics,
    before: described('Of the 30 days before.', metrics),
    last_hour: described(
      'From `start_date` on; not whole: there are more calls than are read for this, these are the newest.',
      shape({
        start_date: dateTime,
        is_whole: boolean,
        spend: usd,
        api_requests: integer,
        unpriced_requests: unpriced,
      }),
    ),
    latency: nullable(described('Of all callers, for those who read everything.', shape(latency))),
    latency_before: nullable(shape(latency)),
    spend_by_model: described(
      "The models that cost most; '' = all others. Dollars of each day, from `start_date` on.",
      listOf(shape({ model: text, spend: listOf(number) })),
    ),
    budgets: described('80 % and more are spent of them.', listOf(reference('BudgetState'))),
    unwell_deployments: listOf(
      shape({
        model_id: text,
        model_name: text,
        model: text,
        is_cooling_down: described('The replica that answers passes it over now.', boolean),
        requests: described('Since yesterday (UTC).', integer),
        failed_requests: integer,
      }),
    ),
    setup: nullable(shape({ has_model: boolean, has_key: boolean, has_call: boolean })),
  }),
  DailyActivity: dailyActivity,
  KeySpendList: listOf(
    shape({
      token: nullable(text),
      token_id: text,
      ...keyOwner,
      user_id: nullable(text),
      team_id: nullable(text),
      ...spent,
    }),
  ),
  UserSpendList: listOf(shape({ user_id: text, ...spent })),
  TagSpendList: listOf(
    shape({ individual_request_tag: text, log_count: integer, total_spend: usd, unpriced_requests: unpriced }),
  ),
  GlobalTagSpend: shape({ spend_per_tag: listOf(shape({ name: text, spend: usd, log_count: integer })) }),
  TagNames: shape({ tag_names: listOf(text) }),
  GlobalKeySpendList: listOf(shape({ api_key: text, token_id: text, ...keyOwner, total_spend: usd })),
  GlobalModelSpendList: listOf(shape({ model: text, total_spend: usd })),
  GlobalProviderSpendList: listOf(shape({ provider: text, spend: usd })),
  GlobalEndUserSpendList: listOf(shape({ end_user: text, total_count: integer, total_spend: usd })),
  GlobalSpend: shape({ spend: usd, max_budget: nullable(number), unpriced_requests: unpriced }),
  DailySpendList: listOf(shape({ date: day, spend: usd })),
  GlobalTeamSpend: shape({
    daily_spend: listOf(open(shape({ date: day }))),
    teams: listOf(text),
    total_spend_per_team: listOf(shape({ team_id: text, team_alias: nullable(text), total_spend: usd })),
  }),
  SpendReport: {
    anyOf: [
      listOf(open(shape({ group_by_day: day }))),
      listOf(shape({ api_key: text, ...costs, model_details: listOf(shape({ model: text, ...costs })) })),
    ],
  },
  CostEstimate: shape({
    model: text,
    input_tokens: integer,
    output_tokens: integer,
    cost_per_request: described('What the caller is charged; null = not known.', maybeUsd),
    list_cost_per_request: described('What the vendor charges.', maybeUsd),
    input_cost_per_request: described('Of the list cost.', maybeUsd),
    output_cost_per_request: described('Of the list cost.', maybeUsd),
    daily_cost: maybeUsd,
    monthly_cost: maybeUsd,
    price_list: described('Version of the price list.', text),
  }),
  CalculatedSpend: shape({ cost: described('null = not known.', maybeUsd) }),
  GlobalActivity: shape(activity),
  GlobalModelActivity: listOf(shape({ model: text, ...activity })),
}
