/** Sessions of agents, as their calls in the ledger tell them: a list, one session turn by turn, and its rows. */
import { z } from 'zod'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ListedSession } from '../../core/ledger/ledger.ts'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import { sessionBreaks, sumsBy, sumsOf, turnsOf } from '../../core/ledger/session-report.ts'
import type { SessionSums, SessionTurn } from '../../core/ledger/session-report.ts'
import { nanoUsdToText } from '../../pricing/cost.ts'
import { lazy } from '../../lib/lazy.ts'
import { readQuery } from '../common/checked-input.ts'
import { rangeOf, spanDoc, spanFields } from '../common/date-span.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'
import {
  boolean,
  dateTime,
  described,
  integer,
  listOf,
  named,
  nullable,
  number,
  oneOf,
  shape,
  text,
} from '../openapi/schema.ts'
import { maybeUsd, unpriced, usd, visibleUsage } from './common/access.ts'

const dayMs = 86_400_000
/** Calls of one session that are read: a week of a busy agent. */
const turnsMax = 5000
const pageRows = 1000

const dollarsText = (nanoUsd: bigint): number => Number(nanoUsdToText(nanoUsd))
const iso = (ms: number): string => new Date(ms).toISOString()
/** How much of the input was read from the vendor's cache. */
const cachedShare = (input: number, cached: number): number | null =>
  input === 0 ? null : Math.round((cached / input) * 10_000) / 10_000
const share = nullable(described('The part of the input that was read from the cache, from 0 to 1.', number))

const listedSchema = shape({
  session_id: text,
  calls: integer,
  failed_calls: integer,
  first_call_at: dateTime,
  last_call_at: dateTime,
  input_tokens: integer,
  cached_input_tokens: integer,
  output_tokens: integer,
  cached_share: share,
  spend: usd,
  unpriced_requests: unpriced,
  client: nullable(described('The product that its client names.', text)),
  model: described('The model that comes first by the alphabet, where it had several.', text),
  models: described('How many models it has used.', integer),
  deployments: described('How many deployments have served it.', integer),
})

const sessionsSchema = named('SpendSessions', () =>
  shape({
    data: described('The one with the newest call first.', listOf(listedSchema)),
    start_date: dateTime,
    end_date: dateTime,
    counted_from: described(
      'From here on all calls were looked at; later than `start_date` = there are too many.',
      dateTime,
    ),
  }),
)

const sessionsQuery = lazy(() =>
  z.strictObject({ limit: z.coerce.number().int().min(1).max(1000).default(100), ...spanFields() }),
)

function listed(one: ListedSession) {
  return {
    session_id: one.sessionId,
    calls: one.calls,
    failed_calls: one.failed,
    first_call_at: iso(one.firstMs),
    last_call_at: iso(one.lastMs),
    input_tokens: one.inputTokens,
    cached_input_tokens: one.cachedInputTokens,
    output_tokens: one.outputTokens,
    cached_share: cachedShare(one.inputTokens, one.cachedInputTokens),
    spend: dollarsText(one.costNanoUsd),
    unpriced_requests: one.unpriced,
    client: one.client,
    model: one.model,
    models: one.models,
    deployments: one.deployments,
  }
}

/** Sessions of a span, by default of the last day, that the caller may see. */
const spendSessions: Endpoint = jsonEndpoint(sessionsSchema, {
  method: 'GET',
  paths: ['/spend/sessions'],
  auth: 'key',
  doc: {
    operationId: 'listSpendSessions',
    summary: 'Sessions of agents with calls, tokens, cache and cost; by default of the last day',
    tag: 'Spend',
    query: {
      ...spanDoc,
      limit: { schema: { type: 'integer', default: 100, maximum: 1000 }, description: 'How many sessions are listed.' },
    },
  },
  async handle(request, services, caller) {
    const { limit, ...span } = readQuery(request, sessionsQuery())
    const range = rangeOf(span)
    const toMs = range.toMs ?? services.clock.epochMs() + 1
    const fromMs = range.fromMs ?? toMs - dayMs
    const found = await services.ledger.sessions({ visible: visibleUsage(caller!), fromMs, toMs, limit })
    return {
      data: found.sessions.map(listed),
      start_date: iso(fromMs),
      end_date: iso(toMs),
      counted_from: iso(found.fromMs),
    }
  },
})

const sumsSchema = {
  calls: integer,
  failed_calls: integer,
  input_tokens: integer,
  cached_input_tokens: integer,
  cache_write_tokens: integer,
  output_tokens: integer,
  reasoning_tokens: integer,
  cached_share: share,
  spend: usd,
  unpriced_requests: unpriced,
}

const turnSchema = shape({
  request_id: text,
  started_at: dateTime,
  duration_ms: number,
  first_byte_ms: nullable(number),
  route: text,
  model: text,
  deployment_id: nullable(text),
  provider: nullable(text),
  outcome: text,
  http_status: integer,
  error_kind: nullable(text),
  attempts: integer,
  input_tokens: nullable(integer),
  cached_input_tokens: nullable(integer),
  cache_write_tokens: nullable(integer),
  output_tokens: nullable(integer),
  reasoning_tokens: nullable(integer),
  spend: maybeUsd,
  breaks: described(
    'What is unlike the turn before: it `failed`, was `cut`, its client `left`; another `model` or `deployment`; a ' +
      '`compaction`; `cold` = nothing was read from the cache, though the turn before had filled it.',
    listOf(oneOf(...sessionBreaks)),
  ),
})

const sessionSchema = named('SpendSession', () =>
  shape({
    session_id: text,
    first_call_at: dateTime,
    last_call_at: dateTime,
    ...sumsSchema,
    models: listOf(shape({ model: nullable(text), ...sumsSchema })),
    deployments: listOf(shape({ deployment_id: nullable(text), ...sumsSchema })),
    turns: described('It has the calls in the order of their beginnings.', listOf(turnSchema)),
    is_capped: described(`There are more calls than the first ${turnsMax}, of which all sums are.`, boolean),
  }),
)

function shownSums({ calls, failed, costNanoUsd, unpriced: without, ...tokens }: SessionSums) {
  return {
    calls,
    failed_calls: failed,
    ...tokens,
    cached_share: cachedShare(tokens.input_tokens, tokens.cached_input_tokens),
    spend: dollarsText(costNanoUsd),
    unpriced_requests: without,
  }
}

function shownTurn(turn: SessionTurn) {
  const { cost_nano_usd: cost } = turn
  return {
    request_id: turn.request_id,
    started_at: iso(turn.started_at_ms),
    duration_ms: turn.duration_ms,
    first_byte_ms: turn.first_byte_ms,
    route: turn.route,
    model: turn.model,
    deployment_id: turn.deployment_id,
    provider: turn.provider,
    outcome: turn.outcome,
    http_status: turn.status,
    error_kind: turn.error_kind,
    attempts: turn.attempts,
    input_tokens: turn.input_tokens,
    cached_input_tokens: turn.cached_input_tokens,
    cache_write_tokens: turn.cache_write_tokens,
    output_tokens: turn.output_tokens,
    reasoning_tokens: turn.reasoning_tokens,
    spend: cost === null ? null : dollarsText(BigInt(cost)),
    breaks: [...turn.breaks],
  }
}

/** The calls of a session, oldest first, a page at a time, up to `turnsMax` of them. */
async function rowsOf(
  id: string,
  services: Services,
  caller: Caller,
): Promise<{ readonly rows: readonly LedgerRow[]; readonly isCapped: boolean }> {
  const rows: LedgerRow[] = []
  let cursor: string | null = null
  do {
    const page: { rows: LedgerRow[]; nextCursor: string | null } = await services.ledger.query({
      visible: visibleUsage(caller),
      sessionId: id,
      isOldestFirst: true,
      limit: pageRows,
      ...(cursor !== null && { cursor }),
    })
    rows.push(...page.rows)
    cursor = page.nextCursor
  } while (cursor !== null && rows.length < turnsMax)
  if (rows.length > 0) return { rows, isCapped: cursor !== null }
  throw new GatewayError('not-found', `no call of the session '${id.slice(0, 128)}' is in the ledger`)
}

/** One session. 404 for one without a call that the caller may see. */
const spendSession: Endpoint = jsonEndpoint(sessionSchema, {
  method: 'GET',
  paths: ['/spend/sessions/{id}'],
  auth: 'key',
  doc: {
    operationId: 'getSpendSession',
    summary: 'A session of an agent, turn by turn: models, deployments, tokens, cache, cost, breaks',
    tag: 'Spend',
    failures: [404],
  },
  async handle(request, services, caller) {
    const id = request.params.id!
    const { rows, isCapped } = await rowsOf(id, services, caller!)
    return {
      session_id: id,
      first_call_at: iso(rows[0]!.started_at_ms),
      last_call_at: iso(rows.at(-1)!.started_at_ms),
      ...shownSums(sumsOf(rows)),
      models: sumsBy(rows, row => row.model).map(({ name, ...sums }) => ({ model: name, ...shownSums(sums) })),
      deployments: sumsBy(rows, row => row.deployment_id).map(({ name, ...sums }) => ({
        deployment_id: name,
        ...shownSums(sums),
      })),
      turns: turnsOf(rows).map(shownTurn),
      is_capped: isCapped,
    }
  },
})

/** The rows of a session as JSON lines, oldest first. 404 as above. */
const spendSessionExport: Endpoint = {
  method: 'GET',
  paths: ['/spend/sessions/{id}/export'],
  auth: 'key',
  doc: {
    operationId: 'exportSpendSession',
    summary: 'The calls of a session as JSON, one a line, oldest first',
    tag: 'Spend',
    success: { 'application/x-ndjson': described('Each line is a row of the ledger, as a JSON object.', text) },
    failures: [404],
  },
  async handle(request, services, caller): Promise<Answer> {
    const { rows } = await rowsOf(request.params.id!, services, caller!)
    const body = rows.map(row => `${JSON.stringify(row)}\n`).join('')
    return { status: 200, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' }, body }
  },
}

/** What the ledger says of sessions. */
export const sessionEndpoints: readonly Endpoint[] = [spendSessions, spendSession, spendSessionExport]
