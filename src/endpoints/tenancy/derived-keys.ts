/** Keys for one run, agent or session, made by signing: nothing is stored. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { derivationsMax, writeDerivedKey } from '../../access/derived-key.ts'
import type { DerivedLink } from '../../access/derived-key.ts'
import { nanoUsdToText } from '../../pricing/cost.ts'
import { readDuration } from '../../access/key.ts'
import { keyName } from '../../access/fields/checks.ts'
import { toolPermission } from '../../access/fields/tool-permission.ts'
import { mayCall, shownModel } from '../../access/models/model-access.ts'
import { isMaster, isStandInKeyId } from '../../core/caller.ts'
import type { Caller, DerivedKey } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import { readJsonAs } from '../common/checked-input.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'
import { dateTime, described, integer, listOf, named, nullable, number, shape, text } from '../openapi/schema.ts'
import { lazy } from '../../lib/lazy.ts'

const lifetimeDefault = '1d'
const nanoUsdPerUsd = 1e9
const limit = lazy(() => z.number().int().min(1).max(1_000_000_000).optional())
const body = lazy(() =>
  z.strictObject({
    models: z.array(keyName()).min(1).max(100).optional(),
    object_permission: toolPermission().optional(),
    max_budget: z.number().min(0).max(9_000_000).optional(),
    duration: z.string().default(lifetimeDefault),
    rpm_limit: limit(),
    tpm_limit: limit(),
    max_parallel_requests: limit(),
  }),
)
const derivedKeySchema = named('DerivedKey', () =>
  shape({
    key: described('The key itself, which is shown this once: `mgd_` and what it may do, signed.', text),
    token_id: text,
    parent_token_id: described('The id of the key that it was made with.', text),
    models: listOf(text),
    max_budget: described(
      'Dollars that it may spend; null = as much as the key that it was made with.',
      nullable(number),
    ),
    rpm_limit: nullable(integer),
    tpm_limit: nullable(integer),
    max_parallel_requests: nullable(integer),
    expires: dateTime,
  }),
)
type DeriveBody = z.infer<ReturnType<typeof body>>

/**
 * A key that may do less than the one it is made with, as many as one likes. Its spend counts in the budgets of that
 * key and of everything that key belongs to, and its own amount holds for its life. It ends with that key at the
 * latest: when that is blocked, deleted, regenerated or expired. 422 for a field that asks for more than that key has.
 */
export const keyDerive: Endpoint = jsonEndpoint(derivedKeySchema, {
  method: 'POST',
  paths: ['/key/derive'],
  auth: 'key',
  takesRequest: true,
  doc: {
    operationId: 'deriveKey',
    summary: 'Make a signed key for one run, agent or session, with a budget of its own; nothing is stored',
    tag: 'Keys',
    request: body,
    requestOptional: true,
    failures: [403, 422],
  },
  async handle(request, services, caller) {
    const fields = await readJsonAs(request, body())
    if (isMaster(caller!))
      throw new GatewayError('forbidden', 'the master key has no derived keys: call with the key they are made from')
    const earlier = (caller!.derived ?? []).map(linkOf)
    if (earlier.length >= derivationsMax)
      throw new GatewayError(
        'forbidden',
        `a key is derived ${derivationsMax} times at most: use one of the keys before`,
      )
    const nowMs = services.clock.epochMs()
    const link = newLink(fields, caller!, nowMs)
    checkNarrower(fields, link, { caller: caller!, services })
    const parent = await services.keys.find({ id: caller!.key.id })
    if (!parent && isStandInKeyId(caller!.key.id))
      throw new GatewayError(
        'forbidden',
        'sessions and tokens have no derived keys: make a key (POST /key/generate), and derive from that',
      )
    if (!parent) throw new GatewayError('unauthenticated', 'the API key was deleted')
    const key = written({ key: parent.hash, links: [...earlier, link] }, services)
    return {
      key,
      token_id: link.id,
      parent_token_id: earlier.at(-1)?.id ?? parent.id,
      models: link.models ?? caller!.key.models,
      max_budget: link.max === undefined ? null : Number(nanoUsdToText(BigInt(link.max))),
      rpm_limit: link.rpm ?? null,
      tpm_limit: link.tpm ?? null,
      max_parallel_requests: link.parallel ?? null,
      expires: new Date(link.end).toISOString(),
    }
  },
})

function written(claims: Parameters<typeof writeDerivedKey>[0], services: Services): string {
  try {
    return writeDerivedKey(claims, services.sign)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new GatewayError('unprocessable', 'the key would be too long; name fewer models, or use a pattern', {
      param: 'models',
    })
  }
}

function newLink(fields: DeriveBody, { key }: Caller, nowMs: number): DerivedLink {
  const duration = readDuration(fields.duration)
  if ('problem' in duration) throw wider('duration', duration.problem)
  const asWritten = fields.duration !== lifetimeDefault
  const end = nowMs + duration.ms
  if (key.expiresAtMs !== null && end > key.expiresAtMs && asWritten)
    throw wider('duration', `ends after the key that it is made from, ${new Date(key.expiresAtMs).toISOString()}`)
  return {
    id: randomUUIDv7(),
    end: Math.min(end, key.expiresAtMs ?? end),
    models: fields.models,
    tools: fields.object_permission ?? undefined,
    max: fields.max_budget === undefined ? undefined : Math.round(fields.max_budget * nanoUsdPerUsd),
    rpm: fields.rpm_limit,
    tpm: fields.tpm_limit,
    parallel: fields.max_parallel_requests,
  }
}

/** All limits of the keys before hold anyway; what could never be used is refused where it is requested. */
function checkNarrower(
  fields: DeriveBody,
  link: DerivedLink,
  { caller, services }: { caller: Caller; services: Services },
): void {
  const { settings } = services.current.models.of(caller)
  for (const model of fields.models ?? [])
    if (!model.includes('*') && !mayCall(caller, model, settings))
      throw wider('models', `this key may not use the model '${shownModel(model)}'`)
  const above = [caller.key, ...(caller.derived ?? [])]
  for (const one of above) {
    const max = one.maxBudgetNanoUsd
    if (link.max !== undefined && max !== null && BigInt(link.max) > max)
      throw wider('max_budget', `is more than the ${nanoUsdToText(max)} USD of the key that it is made from`)
    checkLimit('rpm_limit', link.rpm, one.requestsPerMinute)
    checkLimit('tpm_limit', link.tpm, one.tokensPerMinute)
    checkLimit('max_parallel_requests', link.parallel, one.parallelRequests)
  }
}

function checkLimit(field: string, wanted: number | undefined, max: number | null): void {
  if (wanted !== undefined && max !== null && wanted > max)
    throw wider(field, `is more than the ${max} of the key that it is made from`)
}

function wider(field: string, problem: string): GatewayError {
  return new GatewayError('unprocessable', `${field}: ${problem}`, {
    param: field,
    problems: [{ loc: ['body', field], msg: problem, type: 'out_of_range' }],
  })
}

/** As it stands in the text of the key. */
function linkOf({ id, endMs, models, maxBudgetNanoUsd, ...limits }: DerivedKey): DerivedLink {
  const max = Number(maxBudgetNanoUsd ?? budgetNanoUsdMax)
  return {
    id,
    end: endMs,
    models: models.length === 0 ? undefined : [...models],
    tools: limits.objectPermission ?? undefined,
    max: max === budgetNanoUsdMax ? undefined : max,
    rpm: limits.requestsPerMinute ?? undefined,
    tpm: limits.tokensPerMinute ?? undefined,
    parallel: limits.parallelRequests ?? undefined,
  }
}
