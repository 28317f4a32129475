/** The settlement of a batch: once, however often and by however many replicas its end is read. */
import { costNanoUsd, isFree } from '../pricing/cost.ts'
import { pricesAt } from '../pricing/price-variants.ts'
import { pricedLines } from './batch-output.ts'
import type { BatchOutput, PricedLines } from './batch-output.ts'
import { bareKey, isStandInKeyId, keyOfStoringId, userOfKeyId } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import type { EndedCall, Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FaultKind } from '../core/errors.ts'
import { accountOf } from '../core/objects/files.ts'
import type { FileRecord } from '../core/objects/file-records.ts'
import { unlimited } from '../core/tenancy/tenancy.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { Usage } from '../core/usage/usage.ts'
import { responsesTokens } from '../core/usage/responses-usage.ts'
import { membersOf } from '../core/usage/usage-fields.ts'
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

/** The upstream may give the file later: without it the cost is not known. */
const passing: ReadonlySet<FaultKind> = new Set([
  'upstream-closed',
  'upstream-failed',
  'upstream-overloaded',
  'upstream-rate-limited',
  'upstream-timeout',
  'upstream-unreachable',
])
/** So long after the end of a batch its file is requested again. */
const outputWaitMs = 6 * 3_600_000
/** A batch ends within a day (`completion_window`), also where its upstream reports another time. */
const lastsMsMax = 24 * 3_600_000

/** The upstream's id of the file with the answers, and who waits for it. */
export type OutputFile = Pick<BatchOutput, 'request' | 'fileId'>

interface EndedBatch {
  readonly deployment: Deployment
  /** As its upstream shows it: its status, usage and times. */
  readonly batch: Json
  /** undefined = it has none. */
  readonly output: OutputFile | undefined
}

/**
 * Settles a batch that has ended. Where the sum of its usage does not determine its cost (prices by the length of each
 * request, several models, a fee for each), its lines are read. A second settlement is not recorded again: the request
 * id follows from the batch's. Resolves with false when the lines cannot be read now: another look will.
 */
export async function settleBatch(
  services: Services,
  record: FileRecord,
  { deployment, batch, output }: EndedBatch,
): Promise<boolean> {
  if (await isInLedger(services, record)) return true
  // Its fields are named as those of `/responses` (OpenAI, "The batch object").
  const tokens = responsesTokens(membersOf(batch.usage))
  const completed = completedOf(batch)
  // An upstream that does not count may send zeros; the lines say more.
  const isCounted = tokens && (tokens.inputTokens + tokens.outputTokens > 0 || !output || completed === 0)
  const reported = tokens && isCounted ? { ...tokens, served: { serviceTier: 'batch' } } : undefined
  const models = record.models.map(model => modelAt(services, model, deployment))
  const [model, ...others] = models
  // The upstream reports one usage for the whole batch: with several models their shares are not known.
  const single = others.length === 0 ? model : undefined
  const nothing = !reported && !output && answeredNothing(batch)
  const isKnown = nothing || isFreeAt(single, record.createdAtMs)
  const sum = isKnown ? 0n : reported && single ? costOf(reported, single.prices, record.createdAtMs) : null
  const ofModels = { deployment, models, atMs: record.createdAtMs, completed }
  const lines = sum === null && output ? await linesOf(services, { ...output, ...ofModels }) : undefined
  const waitsFromMs = Math.min(endOf(batch) ?? Infinity, record.createdAtMs + lastsMsMax)
  if (lines === 'later' && services.clock.epochMs() - waitsFromMs < outputWaitMs) return false
  const priced = lines === 'later' ? undefined : lines
  const costNanoUsd = sum ?? priced?.costNanoUsd ?? null
  const costs = record.models.map((name, at) => {
    const cost = nothing || single ? costNanoUsd : (priced?.costs.get(models[at]!) ?? null)
    return [name, cost] as const
  })
  const status = String(batch.status)
  const { kind, ...end } = ends[status]!
  await settle(services, record, {
    ...end,
    deployment: { ...deployment, target: { ...deployment.target, model: single?.target.model ?? '' } },
    // The upstream's word does not move the end into the future.
    endedAtMs: Math.min(endOf(batch) ?? Infinity, services.clock.epochMs()),
    error: kind && new GatewayError(kind, `the batch is ${status}`),
    usage: reported ?? priced?.usage,
    costNanoUsd,
    batch: { reserved: record.reserved ?? [], costs: new Map(costs) },
  })
  return true
}

/** Settles a batch of which its upstream reported no end: its budgets are charged what it had reserved. */
export async function settleLost(services: Services, record: FileRecord, deployment: Deployment): Promise<void> {
  if (await isInLedger(services, record)) return
  await settle(services, record, {
    outcome: 'interrupted',
    status: 500,
    deployment: { ...deployment, target: { ...deployment.target, model: '' } },
    endedAtMs: services.clock.epochMs(),
    error: new GatewayError('upstream-broken', 'the upstream reported no end of the batch'),
    usage: undefined,
    costNanoUsd: null,
    batch: { reserved: record.reserved ?? [], costs: new Map(record.models.map(name => [name, null])) },
  })
}

type BatchSettlement = Omit<EndedCall, 'id' | 'operation' | 'route' | 'caller' | 'tags' | 'model' | 'startedAtMs'>

/** Resolves once the row is stored, and with it what the batch had reserved is back. Rejects with `overloaded`. */
async function settle(services: Services, record: FileRecord, end: BatchSettlement): Promise<void> {
  services.settleEnded({
    ...end,
    id: requestId(record.id),
    operation: 'batches',
    route: '/v1/batches',
    caller: await callerOf(services, record),
    tags: record.owner?.tags ?? [],
    model: record.models.join(','),
    startedAtMs: record.createdAtMs,
  })
  if (!(await services.ledger.flush()))
    throw new GatewayError('overloaded', 'the end of the batch is not stored yet; try again later')
}

/** Another look has settled it, and could not store that it did. */
async function isInLedger({ ledger }: Services, { id }: FileRecord): Promise<boolean> {
  return (await ledger.query({ requestId: requestId(id), limit: 1 })).rows.length > 0
}

/** Of a batch without an output file: whether none of its requests has an answer, which would be billed. */
function answeredNothing(batch: Json): boolean {
  const completed = completedOf(batch)
  return completed === 0 || (batch.status !== 'completed' && completed === undefined)
}

function completedOf({ request_counts: counts }: Json): number | undefined {
  const { completed } = membersOf(counts)
  return typeof completed === 'number' ? completed : undefined
}

/** undefined = no line could have a price, or the upstream refuses to give the file: the cost stays unknown. */
async function linesOf(
  services: Services,
  { models, ...output }: Omit<BatchOutput, 'models'> & { readonly models: readonly (Deployment | undefined)[] },
): Promise<PricedLines | 'later' | undefined> {
  const known = models.filter(model => model !== undefined)
  if (known.length < models.length || !known.every(({ prices }) => prices?.variants?.batch ?? prices?.later)) return
  return pricedLines(services, { ...output, models: known }).catch((error: unknown) => {
    if (!(error instanceof GatewayError)) throw error
    return passing.has(error.kind) ? 'later' : undefined
  })
}

/**
 * Whom the batch was started for: its key with the user, team and organization of that moment, which the key may have
 * left since, or a token named. A key that was deleted has no limits of its own; those of the others hold.
 */
export async function callerOf(
  { keys, tenants }: Services,
  { keyId, owner }: Pick<FileRecord, 'keyId' | 'owner'>,
): Promise<Caller> {
  const isStandIn = isStandInKeyId(keyId)
  const id = keyOfStoringId(keyId)
  const record = isStandIn ? undefined : await keys.find({ id })
  const key = record ?? { ...bareKey, id, userId: userOfKeyId(keyId) ?? null, blocked: !isStandIn }
  if (!owner) return tenants.compile(key)
  const { keyAlias: alias, teamId, organizationId, tags, derived } = owner
  const caller = await tenants.compile({ ...key, alias, userId: owner.userId, teamId, organizationId })
  const stored = await Promise.all(tags.map(tag => tenants.lookup('tag', tag)))
  return {
    ...caller,
    tags: stored.filter(tag => tag !== undefined),
    ...(derived.length > 0 && {
      derived: derived.map(({ id, endMs, maxNanoUsd }) => ({
        ...unlimited,
        id,
        endMs,
        models: [],
        maxBudgetNanoUsd: BigInt(maxNanoUsd),
      })),
    }),
  }
}

const isFreeAt = (model: Deployment | undefined, atMs: number): boolean =>
  model?.prices != null && isFree(pricesAt(model.prices, atMs))

/** null = unknown, also where a price depends on the length of each request: only the total is known. */
function costOf(usage: Usage, prices: Prices | null, atMs: number): bigint | null {
  const batch = prices && pricesAt(prices, atMs).variants?.batch
  if (!batch) return null
  if (batch.request !== undefined) return null
  if (batch.tiers?.some(tier => usage.inputTokens >= tier.fromInputTokens)) return null
  return costNanoUsd(usage, prices, { atMs })
}

/** The UUID in the batch's id. */
function requestId(batchId: string): string {
  const hex = batchId.slice(batchId.indexOf('_') + 1)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The deployment of a public model at the batch's upstream, for its prices. */
export function modelAt(services: Services, model: string, deployment: Deployment): Deployment | undefined {
  const account = accountOf(deployment)
  return services.current.models
    .ofTeam(deployment.teamId)
    .resolve(model)
    .find(one => accountOf(one) === account)
}

function endOf(batch: Json): number | undefined {
  const atS = [batch.completed_at, batch.failed_at, batch.expired_at, batch.cancelled_at].find(
    one => typeof one === 'number',
  )
  return atS === undefined ? undefined : (atS as number) * 1000
}
