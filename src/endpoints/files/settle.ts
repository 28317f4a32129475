/** The end of a batch in the ledger: one row, however often and by however many it is seen. */
import { costNanoUsd, pricesAt } from '../../accounts/cost.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Services } from '../../core/endpoint.ts'
import { accountOf } from '../../core/files.ts'
import { emptyRow } from '../../core/ledger-columns.ts'
import type { LedgerRow } from '../../core/ledger-columns.ts'
import type { FileRecord } from '../../core/ports.ts'
import type { Prices, Usage } from '../../core/usage.ts'
import { readOpenaiUsage } from '../../core/openai-usage.ts'
import type { Fields } from '../kept-objects.ts'

/** How a batch ended, in the ledger's words; absent = it has not. */
const ends: Readonly<Record<string, Pick<LedgerRow, 'outcome' | 'status' | 'error_kind'>>> = {
  completed: { outcome: 'success', status: 200, error_kind: null },
  failed: { outcome: 'error', status: 400, error_kind: 'upstream-refused' },
  expired: { outcome: 'error', status: 408, error_kind: 'upstream-timeout' },
  cancelled: { outcome: 'client_closed', status: 499, error_kind: 'client-closed' },
}

/** Of a batch as clients see it, whose status is in small letters. */
export function hasEnded({ status }: Readonly<Fields>): boolean {
  return typeof status === 'string' && Object.hasOwn(ends, status)
}

/** Writes the row of a batch that has ended. What is written twice is stored once: the id is the batch's own. */
export async function recordBatch(
  services: Services,
  record: FileRecord,
  deployment: Deployment,
  batch: Fields,
): Promise<void> {
  const key = await services.keys.find({ id: record.keyId })
  const usage = usageOf(batch.usage)
  const models = record.models.map(model => modelAt(services, model, deployment))
  const [model, ...others] = models
  // The usage is that of the whole batch: with several models nobody can say what each of them took.
  const cost = usage && model && others.length === 0 ? costOf(usage, model.prices, record.createdAtMs) : null
  const endedAtMs = endOf(batch) ?? services.epochMs()
  services.ledger.settle({
    // The usage of a batch (`readOpenaiUsage`) has tokens only: what is not named here was not counted.
    ...emptyRow,
    request_id: requestId(record.id),
    started_at_ms: record.createdAtMs,
    route: '/v1/batches',
    operation: 'batches',
    ...ends[String(batch.status)]!,
    model: record.models.join(','),
    deployment_id: deployment.id,
    provider: deployment.target.provider.name,
    upstream_model: others.length === 0 ? (model?.target.model ?? null) : null,
    key_id: record.keyId,
    key_alias: key?.alias ?? null,
    user_id: key?.userId ?? null,
    team_id: key?.teamId ?? null,
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    cached_input_tokens: usage?.cachedInputTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
    reasoning_tokens: usage?.reasoningTokens ?? null,
    usage_source: usage ? 'upstream' : 'none',
    cost_nano_usd: cost === null ? null : cost.toString(),
    duration_ms: Math.max(endedAtMs - record.createdAtMs, 0),
    attempts: 1,
    input_audio_tokens: usage?.inputAudioTokens ?? null,
    output_audio_tokens: usage?.outputAudioTokens ?? null,
  })
}

/** null = unknown, also where the price of a request depends on its own length: only the sum of all is known. */
function costOf(usage: Usage, prices: Prices | null, atMs: number): bigint | null {
  if (!prices) return null
  const then = pricesAt(prices, atMs)
  const { tiers, request } = then.batch ?? then
  if (request !== undefined || tiers?.some(tier => usage.inputTokens > tier.aboveInputTokens)) return null
  return costNanoUsd(usage, prices, atMs, true)
}

/** The 128 bits of the batch's id, written as all request ids are. */
function requestId(batchId: string): string {
  const hex = batchId.slice(batchId.indexOf('_') + 1)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The deployment of a public model that is at the batch's upstream: it has the prices. */
function modelAt(services: Services, model: string, deployment: Deployment): Deployment | undefined {
  const account = accountOf(deployment)
  return services
    .models()
    .resolve(model)
    .find(one => accountOf(one) === account)
}

/** In the words of `/responses` (OpenAI, "The batch object"). */
function usageOf(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } = value as Fields
  return readOpenaiUsage({
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    prompt_tokens_details: input_tokens_details,
    completion_tokens_details: output_tokens_details,
  })
}

function endOf(batch: Fields): number | undefined {
  const atS = [batch.completed_at, batch.failed_at, batch.expired_at, batch.cancelled_at].find(
    one => typeof one === 'number',
  )
  return atS === undefined ? undefined : (atS as number) * 1000
}
