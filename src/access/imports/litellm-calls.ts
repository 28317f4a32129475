/** Rows of LiteLLM's spend log as rows of the ledger. Source: `LiteLLM_SpendLogs` in LiteLLM's `schema.prisma`. */
import { createHash } from 'node:crypto'
import { emptyRow } from '../../core/ledger/ledger-columns.ts'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import { operationOfCallType } from '../../core/ledger/shown-call.ts'
import { isSafeId } from '../../core/request.ts'
import { momentMs, nanoUsd } from './litellm-rows.ts'
import type { LitellmRow } from './litellm-rows.ts'

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const count = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.trunc(value)) : null
const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}

/**
 * The row of a call; undefined = it does not say when the call began. What failed has no usage: LiteLLM stores 0 where
 * it knows none. The cost is the one that LiteLLM computed. Its id is made of that of the row, whose text stands in
 * `spend_logs_metadata.litellm_request_id`.
 */
export function callOf(row: LitellmRow): LedgerRow | undefined {
  const startedAtMs = momentMs(row.startTime)
  if (startedAtMs === null) return undefined
  const metadata = object(row.metadata)
  const isFailure = (row.status ?? metadata.status) === 'failure'
  const usage = object(metadata.usage_object)
  const [input, output] = [object(usage.prompt_tokens_details), object(usage.completion_tokens_details)]
  const counted = (value: unknown) => (isFailure ? null : count(value))
  const tags = Array.isArray(row.request_tags) ? row.request_tags.filter(one => typeof one === 'string') : []
  const requestId = String(row.request_id)
  const notes = { ...object(metadata.spend_logs_metadata), litellm_request_id: requestId }
  const session = text(row.session_id)
  return {
    ...emptyRow,
    ...timesOf(row, startedAtMs),
    ...endOf(isFailure, metadata),
    request_id: idAt(startedAtMs, requestId),
    route: text(metadata.user_api_key_request_route) ?? '',
    operation: operationOfCallType(String(row.call_type)),
    model: text(row.model_group) ?? text(row.model) ?? '',
    deployment_id: text(row.model_id),
    provider: text(row.custom_llm_provider),
    upstream_model: text(row.model),
    key_id: text(row.api_key) ?? '',
    key_alias: text(metadata.user_api_key_alias),
    user_id: text(row.user),
    team_id: text(row.team_id),
    organization_id: text(row.organization_id) ?? text(metadata.user_api_key_org_id),
    end_user: text(row.end_user),
    input_tokens: counted(row.prompt_tokens),
    output_tokens: counted(row.completion_tokens),
    cached_input_tokens: counted(input.cached_tokens ?? usage.cache_read_input_tokens),
    cache_write_tokens: counted(usage.cache_creation_input_tokens),
    reasoning_tokens: counted(output.reasoning_tokens),
    usage_source: isFailure ? 'none' : 'upstream',
    cost_nano_usd: isFailure && row.spend === 0 ? null : String(nanoUsd(row.spend) ?? 0n),
    cost_source: isFailure && row.spend === 0 ? null : 'upstream',
    attempts: isFailure ? 0 : 1,
    client_address: text(row.requester_ip_address),
    request_tags: tags.length > 0 ? tags : null,
    cache_hit_kind: String(row.cache_hit).toLowerCase() === 'true' ? 'exact' : null,
    session_id: session !== null && isSafeId(session) ? session : null,
    spend_logs_metadata: JSON.stringify(notes),
  }
}

function timesOf(row: LitellmRow, startedAtMs: number): Partial<LedgerRow> {
  const endMs = momentMs(row.endTime)
  const durationMs = Math.max(0, count(row.request_duration_ms) ?? (endMs ?? startedAtMs) - startedAtMs)
  const firstByteMs = (momentMs(row.completionStartTime) ?? startedAtMs) - startedAtMs
  return {
    started_at_ms: startedAtMs,
    duration_ms: durationMs,
    first_byte_ms: firstByteMs > 0 && firstByteMs <= durationMs ? firstByteMs : null,
  }
}

function endOf(isFailure: boolean, metadata: Readonly<Record<string, unknown>>): Partial<LedgerRow> {
  if (!isFailure) return { outcome: 'success', status: 200 }
  const error = object(metadata.error_information)
  const status = Number(error.error_code)
  const isStatus = Number.isInteger(status) && status >= 400 && status < 600
  return { outcome: 'error', status: isStatus ? status : 500, error_kind: text(error.error_class) ?? 'internal' }
}

/** A UUID v7 of the moment, the same for the same id: rows are found by the time in their ids. */
function idAt(ms: number, id: string): string {
  const hash = createHash('sha256').update(id).digest('hex')
  const time = Math.max(0, ms).toString(16).padStart(12, '0')
  const variant = (8 + (parseInt(hash[3]!, 16) % 4)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
}
