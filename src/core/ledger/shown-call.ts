/**
 * A call of the ledger as the API shows it (`/spend/logs/v2`). Here because the threads that read the ledger write it:
 * a page of 200 rows is half a megabyte, and takes three milliseconds of the event loop where its rows come as objects.
 */
import { attemptsOf } from './attempt-list.ts'
import type { LedgerRow } from './ledger-columns.ts'

/** What the owners of a row are called now; of what is deleted, and of what has none, there is no name. */
export interface OwnerNames {
  /** Of the key; of a deleted one its id. */
  readonly keyHash: string
  readonly teamAlias: string | null
  readonly userEmail: string | null
  readonly organizationAlias: string | null
}

/** A field that a row shows beside its columns. */
interface ShownField {
  /** JSON Schema of the value. */
  readonly schema: object
  readonly valueOf: (row: LedgerRow, names: OwnerNames) => unknown
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

/** What a model was asked to do, of LiteLLM's word for it; one that is none here stays. */
export function operationOfCallType(callType: string): string {
  const found = Object.entries(callTypes).find(([, name]) => name === callType || name === `a${callType}`)
  return found?.[0] ?? callType
}

const statusOf = ({ outcome }: LedgerRow): string => (outcome === 'success' ? 'success' : 'failure')

/** null = none, or changed by hand so that it is no JSON: the rest of the row is worth showing all the same. */
function notesOf({ spend_logs_metadata: text }: LedgerRow): unknown {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}

const attemptListSchema = {
  type: ['array', 'null'],
  description:
    'The attempts of a call that failed or needed more than one, in their order, of up to 4096 characters; null = ' +
    'there is nothing to tell.',
  items: {
    type: 'object',
    properties: {
      deployment_id: textOf('The deployment that was asked.'),
      model: textOf('The public name that the deployment has.'),
      provider: textOf('The provider that the deployment has.'),
      upstream_model: textOrNull('The name that the model has at its upstream.'),
      status: integerOrNull('The HTTP status of the upstream; null = it did not answer.'),
      error_kind: textOrNull('The kind of error that it has ended with; null = it has answered.'),
      error_message: textOrNull('What the upstream said, shortened and without secrets; null = it is not kept.'),
      started_ms: {
        type: 'integer',
        description: 'How many milliseconds after the beginning of the call it was sent.',
      },
      duration_ms: { type: 'integer', description: 'How long it has taken.' },
    },
    required: [
      'deployment_id',
      'model',
      'provider',
      'upstream_model',
      'status',
      'error_kind',
      'error_message',
      'started_ms',
      'duration_ms',
    ],
    additionalProperties: false,
  },
}

/** What a row shows beside its columns: values in units for people, and LiteLLM's names (proxy/_types, 2026-11-23). */
export const shownFields: Readonly<Record<string, ShownField>> = {
  started_at: { schema: moment('It is `started_at_ms` as a date.'), valueOf: row => isoText(row.started_at_ms) },
  spend: {
    schema: { type: ['number', 'null'], description: 'It is `cost_nano_usd` in dollars.' },
    valueOf: ({ cost_nano_usd: nanoUsd }) => (nanoUsd === null ? null : Number(nanoUsd) / 1e9),
  },
  audio_seconds: {
    schema: { type: ['number', 'null'], description: 'It is `audio_microseconds` in seconds.' },
    valueOf: ({ audio_microseconds: microseconds }) => (microseconds === null ? null : microseconds / 1e6),
  },
  startTime: { schema: moment('It is the same as `started_at`.'), valueOf: row => isoText(row.started_at_ms) },
  endTime: {
    schema: moment('The moment when it has ended.'),
    valueOf: row => isoText(row.started_at_ms + row.duration_ms),
  },
  completionStartTime: {
    schema: textOrNull('When the answer began; null = it did not.'),
    valueOf: row => (row.first_byte_ms === null ? null : isoText(row.started_at_ms + row.first_byte_ms)),
  },
  request_duration_ms: {
    schema: { type: 'integer', description: 'It is `duration_ms` as a whole number.' },
    valueOf: row => Math.round(row.duration_ms),
  },
  prompt_tokens: { schema: integerOrNull('It is the same as `input_tokens`.'), valueOf: row => row.input_tokens },
  completion_tokens: { schema: integerOrNull('It is the same as `output_tokens`.'), valueOf: row => row.output_tokens },
  total_tokens: {
    schema: integerOrNull('The sum of input and output; null = neither was counted.'),
    valueOf: ({ input_tokens: input, output_tokens: output }) =>
      input === null && output === null ? null : (input ?? 0) + (output ?? 0),
  },
  call_type: {
    schema: textOf("It is LiteLLM's word for `operation`."),
    valueOf: row => callTypes[row.operation] ?? row.operation,
  },
  api_key: {
    schema: textOf('The hash of the key; of a deleted one it is the id.'),
    valueOf: (_row, { keyHash }) => keyHash,
  },
  team_alias: {
    schema: textOrNull('What the team is called now; null = it is deleted, or has no name.'),
    valueOf: (_row, { teamAlias }) => teamAlias,
  },
  user_email: {
    schema: textOrNull('The e-mail address that the user has now.'),
    valueOf: (_row, { userEmail }) => userEmail,
  },
  organization_alias: {
    schema: textOrNull('What the organization is called now.'),
    valueOf: (_row, { organizationAlias }) => organizationAlias,
  },
  model_id: { schema: textOrNull('It is the same as `deployment_id`.'), valueOf: row => row.deployment_id },
  model_group: { schema: textOf('It is the same as `model`.'), valueOf: row => row.model },
  custom_llm_provider: { schema: textOrNull('It is the same as `provider`.'), valueOf: row => row.provider },
  user: { schema: textOrNull('It is the same as `user_id`.'), valueOf: row => row.user_id },
  cache_hit: {
    schema: textOf('With `True` it was answered without an upstream (`cache_hit_kind`).'),
    valueOf: row => (row.cache_hit_kind === null ? 'False' : 'True'),
  },
  status: {
    schema: { enum: ['success', 'failure'], description: 'It is `failure` for every `outcome` but `success`.' },
    valueOf: statusOf,
  },
  http_status: {
    schema: { type: 'integer', description: 'The HTTP status of the answer; it is 499 where the client left first.' },
    valueOf: row => row.status,
  },
  requester_ip_address: {
    schema: textOrNull('It is the same as `client_address`.'),
    valueOf: row => row.client_address,
  },
  spend_logs_metadata: {
    schema: {
      type: ['object', 'null'],
      description: 'What the client has sent (`x-litellm-spend-logs-metadata`).',
      additionalProperties: true,
    },
    valueOf: notesOf,
  },
  attempt_list: {
    schema: attemptListSchema,
    valueOf: row => attemptsOf(row.attempt_list),
  },
  metadata: {
    schema: {
      type: 'object',
      description: 'It says whose key it was, the error, and what the client has sent.',
      additionalProperties: true,
    },
    valueOf: (row, { keyHash, teamAlias, userEmail, organizationAlias }) => ({
      user_api_key: keyHash,
      user_api_key_alias: row.key_alias,
      user_api_key_user_id: row.user_id,
      user_api_key_team_id: row.team_id,
      user_api_key_team_alias: teamAlias,
      user_api_key_user_email: userEmail,
      user_api_key_org_id: row.organization_id,
      user_api_key_org_alias: organizationAlias,
      status: statusOf(row),
      spend_logs_metadata: notesOf(row),
      error_information:
        row.error_kind === null
          ? null
          : { error_class: row.error_kind, error_code: String(row.status), error_message: row.error_message },
    }),
  },
}
const shown = Object.entries(shownFields)

/** A row in JSON as the API shows it. */
export function shownCall(row: LedgerRow, names: OwnerNames): string {
  const object: Record<string, unknown> = { ...row }
  for (const [name, field] of shown) object[name] = field.valueOf(row, names)
  return JSON.stringify(object)
}
