/** The settlement of a batch: once, however often and by however many replicas its end is read. */
import { costNanoUsd, pricesAt } from '../accounts/cost.ts'
import type { Caller, VirtualKey } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import type { EndedCall, Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FaultKind } from '../core/errors.ts'
import { accountOf } from '../core/files.ts'
import type { FileRecord } from '../core/ports.ts'
import type { Prices, Usage } from '../core/usage.ts'
import { readOpenaiUsage } from '../core/openai-usage.ts'
import type { Json } from '../lib/json/json-values.ts'

/** The final statuses of a batch. */
const ends: Readonly<Record<string, Pick<EndedCall, 'outcome' | 'status'> & { readonly kind?: FaultKind }>> = {
  completed: { outcome: 'success', status: 200 },
  failed: { outcome: 'error', status: 400, kind: 'upstream-refused' },
  expired: { outcome: 'error', status: 408, kind: 'upstream-timeout' },
  cancelled: { outcome: 'client_closed', status: 499, kind: 'client-closed' },
}

/** For a batch as clients see it, with its status in lower case. */
export function hasEnded({ status }: Readonly<Json>): boolean {
  return typeof status === 'string' && Object.hasOwn(ends, status)
}

/**
 * Settles a batch that has ended. A second settlement is not recorded again: the request id follows from the batch's.
 */
export async function settleBatch(
  services: Services,
  record: FileRecord,
  deployment: Deployment,
  batch: Json,
): Promise<void> {
  const usage = usageOf(batch.usage)
  const models = record.models.map(model => modelAt(services, model, deployment))
  const [model, ...others] = models
  // The upstream reports one usage for the whole batch: with several models their shares are not known.
  const single = others.length === 0 ? model : undefined
  const { kind, ...end } = ends[String(batch.status)]!
  const status = String(batch.status)
  services.settleEnded({
    ...end,
    id: requestId(record.id),
    operation: 'batches',
    route: '/v1/batches',
    caller: await callerOf(services, record.keyId),
    model: record.models.join(','),
    deployment: { ...deployment, target: { ...deployment.target, model: single?.target.model ?? '' } },
    startedAtMs: record.createdAtMs,
    // The upstream's word does not move the end into the future.
    endedAtMs: Math.min(endOf(batch) ?? Infinity, services.clock.epochMs()),
    error: kind && new GatewayError(kind, `the batch is ${status}`),
    usage,
    costNanoUsd: usage && single ? costOf(usage, single.prices, record.createdAtMs) : null,
  })
}

/** The key may have been deleted since: the ledger then has its id alone. */
async function callerOf(services: Services, keyId: string): Promise<Caller> {
  const key = await services.keys.find({ id: keyId })
  return { role: 'key', key: key ?? { ...deletedKey, id: keyId } }
}

const deletedKey: Omit<VirtualKey, 'id'> = {
  alias: null,
  userId: null,
  teamId: null,
  models: [],
  expiresAtMs: null,
  blocked: true,
  requestsPerMinute: null,
  tokensPerMinute: null,
  parallelRequests: null,
  metadata: {},
}

/** null = unknown, also where a price depends on the length of each request: only the total is known. */
function costOf(usage: Usage, prices: Prices | null, atMs: number): bigint | null {
  if (!prices) return null
  const then = pricesAt(prices, atMs)
  const { tiers, request } = then.batch ?? then
  if (request !== undefined || tiers?.some(tier => usage.inputTokens > tier.aboveInputTokens)) return null
  return costNanoUsd(usage, prices, atMs, true)
}

/** The UUID in the batch's id. */
function requestId(batchId: string): string {
  const hex = batchId.slice(batchId.indexOf('_') + 1)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The deployment of a public model at the batch's upstream, for its prices. */
function modelAt(services: Services, model: string, deployment: Deployment): Deployment | undefined {
  const account = accountOf(deployment)
  return services.current.models.resolve(model).find(one => accountOf(one) === account)
}

/** The fields are named as those of `/responses` (OpenAI, "The batch object"). */
function usageOf(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } = value as Json
  return readOpenaiUsage({
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    prompt_tokens_details: input_tokens_details,
    completion_tokens_details: output_tokens_details,
  })
}

function endOf(batch: Json): number | undefined {
  const atS = [batch.completed_at, batch.failed_at, batch.expired_at, batch.cancelled_at].find(
    one => typeof one === 'number',
  )
  return atS === undefined ? undefined : (atS as number) * 1000
}
