/** Reads the ledger: one row per call, newest first, in pages by cursor. */
import { z } from 'zod'
import { jsonTextAnswer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import { columnList, ledgerColumns } from '../../core/ledger-columns.ts'
import type { LedgerColumn, LedgerRow } from '../../core/ledger-columns.ts'
import type { FollowedRows } from '../../core/ledger-tail.ts'
import type { KeyRecord } from '../../core/ports.ts'
import { readQuery } from '../checked-input.ts'
import { json } from '../openapi/schema.ts'
import { writeListInTurns } from '../../lib/json/list-in-turns.ts'
import { checkKeyAsked, dollars, keyIdOf, keysById, visibleUsage } from './spend/access.ts'
import { rangeOf, spanDoc, spanFields } from './spend/span.ts'
import { onUse } from '../../lib/on-use.ts'

const outcomes = ledgerColumns.outcome.values!
const word = onUse(() => z.string().min(1).max(255))
/** Which rows are asked for. */
export const rowFilter = onUse(() =>
  z.strictObject({
    key_id: word().optional(),
    user_id: word().optional(),
    team_id: word().optional(),
    model: word().optional(),
    request_id: word().optional(),
    session_id: word().optional(),
    outcome: z.enum(outcomes).optional(),
    hits: z.enum(['guardrail', 'cache']).optional(),
    end_user: word().optional(),
    api_key: word().optional(),
    ...spanFields(),
  }),
)
const spendQuery = onUse(() =>
  rowFilter().extend({
    limit: z.coerce.number().int().min(1).max(1000).default(50),
    cursor: z.string().max(1000).optional(),
  }),
)

/** What `rowFilter` takes. */
export const rowFilterDoc: NonNullable<EndpointDoc['query']> = {
  key_id: { schema: { type: 'string' }, description: 'Only calls of this key (`token_id`).' },
  user_id: { schema: { type: 'string' }, description: 'Only calls of this user.' },
  team_id: { schema: { type: 'string' }, description: 'Only calls of this team.' },
  model: { schema: { type: 'string' }, description: 'Only calls of this model.' },
  request_id: { schema: { type: 'string' }, description: 'One call (`x-proxy-call-id`).' },
  session_id: { schema: { type: 'string' }, description: 'Only calls of this session, conversation or trace.' },
  outcome: { schema: { type: 'string' }, description: `${outcomes.join(', ')}.` },
  hits: {
    schema: { enum: ['guardrail', 'cache'] },
    description: 'Only calls in which a guardrail found something or was not answered, or that the cache answered.',
  },
  end_user: { schema: { type: 'string' }, description: 'Only calls for this customer.' },
  api_key: { schema: { type: 'string' }, description: 'Only calls of this key: its `token_id` or hash.' },
  ...spanDoc,
}

/** Money is dollars in decimal text. 403 for another key's calls, 422 for wrong filters, 400 for a foreign cursor. */
export const spendLogs: Endpoint = {
  method: 'GET',
  paths: ['/spend/logs'],
  auth: 'key',
  doc: {
    operationId: 'listSpendLogs',
    summary: "The ledger: every call with usage and cost; a key sees its own, the master key everyone's",
    tag: 'Spend',
    query: {
      ...rowFilterDoc,
      limit: { schema: { type: 'integer', default: 50, maximum: 1000 }, description: 'Rows a page.' },
      cursor: { schema: { type: 'string' }, description: '`next_cursor` of the page before.' },
    },
    success: json('SpendLogs'),
    failures: [400, 403],
  },
  async handle(request, services, caller) {
    const query = readQuery(request, spendQuery())
    const { limit, cursor } = query
    const asked = followedRows(await withKeyId(services, query), caller!)
    const { rows, nextCursor } = await services.ledger.query({
      ...asked,
      limit,
      ...(cursor !== undefined && { cursor }),
    })
    const keys = await keysById(
      services,
      rows.map(row => row.key_id),
    )
    const data = await writeListInTurns(rows, row => JSON.stringify(shownRow(row, keys)))
    return jsonTextAnswer(`{"data":${data},"next_cursor":${JSON.stringify(nextCursor)}}`)
  },
}

type RowFilter = z.infer<ReturnType<typeof rowFilter>>

/** The filter with the id of the key that it names. */
export async function withKeyId<Filter extends RowFilter>(services: Services, filter: Filter): Promise<Filter> {
  return filter.api_key === undefined ? filter : { ...filter, key_id: await keyIdOf(services, filter.api_key) }
}

/** The rows of the filter that the caller may see. Throws 403 where it asks for another key's. */
export function followedRows(query: RowFilter, caller: Caller): FollowedRows {
  checkKeyAsked(caller, query.key_id)
  const { fromMs, toMs } = rangeOf(query)
  return {
    visible: visibleUsage(caller),
    ...(query.key_id !== undefined && { keyId: query.key_id }),
    ...(query.user_id !== undefined && { userId: query.user_id }),
    ...(query.team_id !== undefined && { teamId: query.team_id }),
    ...(query.model !== undefined && { model: query.model }),
    ...(query.request_id !== undefined && { requestId: query.request_id }),
    ...(query.session_id !== undefined && { sessionId: query.session_id }),
    ...(query.end_user !== undefined && { endUser: query.end_user }),
    ...(query.outcome !== undefined && { outcome: query.outcome }),
    ...(query.hits !== undefined && { hits: query.hits }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  }
}

interface ShownField {
  /** JSON Schema of the value. */
  readonly schema: object
  readonly valueOf: (row: LedgerRow, keyHash: string) => unknown
}

const integerOrNull = (description: string) => ({ type: ['integer', 'null'], description })
const textOf = (description: string) => ({ type: 'string', description })
const textOrNull = (description: string) => ({ type: ['string', 'null'], description })
const moment = (description: string) => ({ type: 'string', format: 'date-time', description })
const isoText = (ms: number): string => new Date(ms).toISOString()

/** What LiteLLM calls them, for scripts that count calls by type. */
const callTypes: Readonly<Record<string, string>> = {
  chat: 'acompletion',
  completions: 'atext_completion',
  embeddings: 'aembedding',
  moderations: 'amoderation',
  rerank: 'arerank',
  images: 'aimage_generation',
  speech: 'aspeech',
  transcriptions: 'atranscription',
}

/** What a row shows beside its columns: values in units for people, and LiteLLM's names (proxy/_types, 2026-11-23). */
const shownFields: Readonly<Record<string, ShownField>> = {
  started_at: { schema: moment('`started_at_ms` as a date.'), valueOf: row => isoText(row.started_at_ms) },
  spend: {
    schema: { type: ['number', 'null'], description: '`cost_nano_usd` in dollars.' },
    valueOf: ({ cost_nano_usd: nanoUsd }) => (nanoUsd === null ? null : dollars(BigInt(nanoUsd))),
  },
  audio_seconds: {
    schema: { type: ['number', 'null'], description: '`audio_microseconds` in seconds.' },
    valueOf: ({ audio_microseconds: microseconds }) => (microseconds === null ? null : microseconds / 1e6),
  },
  startTime: { schema: moment('As `started_at`.'), valueOf: row => isoText(row.started_at_ms) },
  endTime: { schema: moment('When it ended.'), valueOf: row => isoText(row.started_at_ms + row.duration_ms) },
  completionStartTime: {
    schema: textOrNull('When the answer began; null = it did not.'),
    valueOf: row => (row.first_byte_ms === null ? null : isoText(row.started_at_ms + row.first_byte_ms)),
  },
  request_duration_ms: {
    schema: { type: 'integer', description: '`duration_ms`, rounded.' },
    valueOf: row => Math.round(row.duration_ms),
  },
  prompt_tokens: { schema: integerOrNull('As `input_tokens`.'), valueOf: row => row.input_tokens },
  completion_tokens: { schema: integerOrNull('As `output_tokens`.'), valueOf: row => row.output_tokens },
  total_tokens: {
    schema: integerOrNull('Input and output; null = neither was counted.'),
    valueOf: ({ input_tokens: input, output_tokens: output }) =>
      input === null && output === null ? null : (input ?? 0) + (output ?? 0),
  },
  call_type: {
    schema: textOf("LiteLLM's word for `operation`."),
    valueOf: row => callTypes[row.operation] ?? row.operation,
  },
  api_key: { schema: textOf("The key's hash; of a deleted key its id."), valueOf: (_row, keyHash) => keyHash },
  model_id: { schema: textOrNull('As `deployment_id`.'), valueOf: row => row.deployment_id },
  model_group: { schema: textOf('As `model`.'), valueOf: row => row.model },
  custom_llm_provider: { schema: textOrNull('As `provider`.'), valueOf: row => row.provider },
  user: { schema: textOrNull('As `user_id`.'), valueOf: row => row.user_id },
  cache_hit: {
    schema: textOf('`True`: it was answered without an upstream (`cache_hit_kind`).'),
    valueOf: row => (row.cache_hit_kind === null ? 'False' : 'True'),
  },
  requester_ip_address: { schema: textOrNull('As `client_address`.'), valueOf: row => row.client_address },
  metadata: {
    schema: { type: 'object', description: 'Whose key it was, and the error.', additionalProperties: true },
    valueOf: (row, keyHash) => ({
      user_api_key: keyHash,
      user_api_key_alias: row.key_alias,
      user_api_key_user_id: row.user_id,
      user_api_key_team_id: row.team_id,
      status: row.outcome === 'success' ? 'success' : 'failure',
      error_information:
        row.error_kind === null ? null : { error_class: row.error_kind, error_code: String(row.status) },
    }),
  },
}
const shown = Object.entries(shownFields)

/** A row as the API shows it. `keys` by their ids. */
export function shownRow(row: LedgerRow, keys: ReadonlyMap<string, KeyRecord>): object {
  const keyHash = keys.get(row.key_id)?.hash ?? row.key_id
  return { ...row, ...Object.fromEntries(shown.map(([name, field]) => [name, field.valueOf(row, keyHash)])) }
}

const jsonTypes: Readonly<Record<LedgerColumn['kind'], string>> = {
  text: 'string',
  list: 'array',
  decimal: 'string',
  integer: 'integer',
  integer32: 'integer',
  number: 'number',
  boolean: 'boolean',
}

function columnSchema({ kind, nullable, description, values }: LedgerColumn): object {
  const type = jsonTypes[kind]
  const items = kind === 'list' ? { items: { type: 'string' } } : {}
  return {
    type: nullable ? [type, 'null'] : type,
    ...items,
    ...(values && { enum: nullable ? [...values, null] : values }),
    description,
  }
}

/** JSON Schema of a row as `/spend/logs` shows it. */
export const spendLogSchema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(columnList.map(column => [column.name, columnSchema(column)])),
    ...Object.fromEntries(shown.map(([name, field]) => [name, field.schema])),
  },
  required: [...columnList.map(column => column.name), ...shown.map(([name]) => name)],
}
