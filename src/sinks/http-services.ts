/** Services that take rows by HTTP, each in its documented shape. */
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import type { Sink } from '../core/ledger/sink.ts'
import type { SinkParams } from '../core/ledger/sinks.ts'
import { webhookHeaders } from '../lib/webhook-signature.ts'
import { ask, basicAuth } from './ask.ts'
import type { SinkParts } from './ask.ts'
import { batchId, jsonLines } from './json-lines.ts'

const json = { 'content-type': 'application/json' }

/**
 * https://clickhouse.com/docs/interfaces/http, 2026-11. A repeated batch has the same token, by which tables that
 * deduplicate drop it; columns that the table lacks are left out.
 */
export function clickhouseSink(parts: SinkParts, { url, table, username, password }: SinkParams): Sink {
  return {
    rowsMax: 1000,
    async send(rows) {
      const address = new URL(url!)
      address.searchParams.set('query', `INSERT INTO ${table!} FORMAT JSONEachRow`)
      address.searchParams.set('input_format_skip_unknown_fields', '1')
      address.searchParams.set('insert_deduplication_token', batchId(rows))
      const headers = {
        'content-type': 'application/x-ndjson',
        ...(username !== undefined && { 'x-clickhouse-user': username }),
        ...(password !== undefined && { 'x-clickhouse-key': password }),
      }
      await ask(parts, { url: address.href, headers, body: jsonLines(rows) })
    },
  }
}

/**
 * https://docs.confluent.io/platform/current/kafka-rest/api.html (v2), 2026-11; Redpanda's HTTP proxy and Strimzi's
 * bridge take the same. The key of a record is the id of the call.
 */
export function kafkaRestSink(parts: SinkParts, { url, topic, username, password }: SinkParams): Sink {
  return {
    rowsMax: 500,
    async send(rows) {
      const address = `${url!.replace(/\/$/, '')}/topics/${encodeURIComponent(topic!)}`
      const records = rows.map(row => ({ key: row.request_id, value: row }))
      const headers = {
        'content-type': 'application/vnd.kafka.json.v2+json',
        accept: 'application/vnd.kafka.v2+json',
        ...basicAuth(username, password),
      }
      const answer = await ask(parts, { url: address, headers, body: JSON.stringify({ records }) })
      const { offsets = [] } = JSON.parse(answer || '{}') as { offsets?: { error?: string | null }[] }
      const refused = offsets.find(one => one.error)
      if (refused) throw new Error(`a record was refused: ${refused.error}`)
    },
  }
}

/** https://docs.datadoghq.com/api/latest/logs/, 2026-11. */
export function datadogSink(parts: SinkParts, { url, password }: SinkParams): Sink {
  return {
    rowsMax: 500,
    async send(rows) {
      // `status` is the level of a line there.
      const lines = rows.map(({ status: httpStatus, ...row }) => ({
        ddsource: 'modelgate',
        service: 'modelgate',
        status: row.outcome === 'success' ? 'info' : 'error',
        message: `${row.outcome} ${row.model} ${row.request_id}`,
        timestamp: row.started_at_ms,
        http_status: httpStatus,
        ...row,
      }))
      const address = `${(url ?? 'https://http-intake.logs.datadoghq.com').replace(/\/$/, '')}/api/v2/logs`
      await ask(parts, {
        url: address,
        headers: { ...json, 'dd-api-key': password ?? '' },
        body: JSON.stringify(lines),
      })
    },
  }
}

/**
 * https://api.reference.langfuse.com (ingestion), 2026-11: a trace and a generation for each call. Events are known by
 * their id, so that a repeated one changes nothing. 207 lists what was not taken.
 */
export function langfuseSink(parts: SinkParts, { url, username, password }: SinkParams): Sink {
  return {
    rowsMax: 100,
    async send(rows) {
      const address = `${(url ?? 'https://cloud.langfuse.com').replace(/\/$/, '')}/api/public/ingestion`
      const headers = { ...json, ...basicAuth(username, password) }
      const body = JSON.stringify({ batch: rows.flatMap(langfuseEvents) })
      const answer = await ask(parts, { url: address, headers, body })
      const { errors = [] } = JSON.parse(answer || '{}') as { errors?: { id: string; message?: string }[] }
      if (errors.length > 0)
        throw new Error(`it refused ${errors.length} events: ${errors[0]!.message ?? errors[0]!.id}`)
    },
  }
}

function langfuseEvents(row: LedgerRow): object[] {
  const startedAt = new Date(row.started_at_ms).toISOString()
  const endedAt = new Date(row.started_at_ms + row.duration_ms).toISOString()
  const trace = {
    id: row.request_id,
    timestamp: startedAt,
    name: row.route,
    userId: row.end_user ?? row.user_id,
    sessionId: row.session_id,
    tags: row.request_tags ?? [],
    metadata: { key_id: row.key_id, key_alias: row.key_alias, team_id: row.team_id, deployment_id: row.deployment_id },
  }
  const cost = row.cost_nano_usd === null ? undefined : Number(row.cost_nano_usd) / 1e9
  const generation = {
    id: `${row.request_id}-generation`,
    traceId: row.request_id,
    name: row.operation,
    startTime: startedAt,
    endTime: endedAt,
    ...(row.first_byte_ms !== null && {
      completionStartTime: new Date(row.started_at_ms + row.first_byte_ms).toISOString(),
    }),
    model: row.upstream_model ?? row.model,
    usageDetails: { input: row.input_tokens ?? 0, output: row.output_tokens ?? 0 },
    ...(cost !== undefined && { costDetails: { total: cost } }),
    level: row.outcome === 'success' ? 'DEFAULT' : 'ERROR',
    statusMessage: row.error_kind,
  }
  const event = (type: string, id: string, body: object) => ({ id, timestamp: startedAt, type, body })
  return [
    event('trace-create', row.request_id, trace),
    event('generation-create', `${row.request_id}-generation`, generation),
  ]
}

/** As `usage_export.webhook_url`, with a secret of its own. */
export function webhookSink(parts: SinkParts, { url, password }: SinkParams): Sink {
  return {
    rowsMax: 200,
    async send(rows) {
      const body = Buffer.from(webhookBody(rows))
      const headers = webhookHeaders(password, { id: `usage_${batchId(rows)}`, atMs: parts.epochMs(), body })
      await ask(parts, { url: url!, headers, body })
    },
  }
}

/** What a webhook is sent of rows. */
export const webhookBody = (rows: readonly LedgerRow[]): string =>
  JSON.stringify({ type: 'usage.rows', data: rows.map(row => ({ identifier: row.request_id, ...row })) })
