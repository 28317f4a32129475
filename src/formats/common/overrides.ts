/**
 * Fields by which a client controls the gateway itself (docs/api.md, "Fields that control the gateway"), also under
 * LiteLLM's names. They mean the same in every dialect whose bodies may carry them.
 */
import { noCacheControls } from '../../core/cache/cache-settings.ts'
import type { CacheControls } from '../../core/cache/cache-settings.ts'
import { unprocessable } from '../../core/errors.ts'
import { noOverrides } from '../../core/overrides.ts'
import type { RequestOverrides } from '../../core/overrides.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { ProblemList, readField } from './field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { fieldTable } from './field-table.ts'
import { gatewayFields, ignoredFields, overrideFields } from './gateway-fields.ts'

const { checks } = fieldTable(overrideFields)
const names: ReadonlySet<string> = new Set([...checks.keys(), ...ignoredFields])

/**
 * `own` = the fields that are the gateway's in this dialect. Throws `unprocessable` for one of a wrong shape, in
 * dialects that do not look at them before.
 */
export function readOverrides(body: JsonBody, own = gatewayFields): RequestOverrides {
  let fields: Json | undefined
  for (const name of body.names()) if (names.has(name) && own.has(name)) (fields ??= {})[name] = readField(body, name)
  if (!fields) return noOverrides
  const list = new ProblemList()
  for (const [name, check] of checks) if (fields[name] != null) check(fields[name], list)
  if (list.problems.length > 0) throw unprocessable(list.problems)
  return overridesOf(fields)
}

function overridesOf(fields: Json): RequestOverrides {
  const { num_retries: retries, fallbacks, context_window_fallback_dict: larger, drop_params: dropParams } = fields
  const { guardrails } = fields
  return {
    ...(Array.isArray(guardrails) && guardrails.length > 0 && { guardrails: guardrails as string[] }),
    ...(typeof retries === 'number' && { retries }),
    ...(Array.isArray(fallbacks) && { fallbacks: fallbacks.map(modelOf) }),
    ...(isObject(larger) && { contextFallbacks: new Map(Object.entries(larger as Record<string, string>)) }),
    ...(fields['no-log'] === true && { noLog: true as const }),
    ...(typeof dropParams === 'boolean' && { dropParams }),
    // 0 = as the deployment says.
    ...(typeof fields.timeout === 'number' && fields.timeout > 0 && { timeoutMs: fields.timeout * 1000 }),
    ...(isObject(fields.cache) || typeof fields.caching === 'boolean' ? { cache: cacheControls(fields) } : undefined),
    unfulfilled: ignoredFields.filter(name => fields[name] != null),
  }
}

const modelOf = (fallback: unknown): string => (isObject(fallback) ? fallback.model : fallback) as string

/** `cache` and `caching`, whose shape was checked. `caching: false` stands for both `no-cache` and `no-store`. */
function cacheControls({ cache, caching }: Json): CacheControls {
  const given = isObject(cache) ? cache : {}
  const ms = (seconds: unknown) => (typeof seconds === 'number' ? seconds * 1000 : undefined)
  const use = given['use-cache'] ?? caching
  return {
    ...noCacheControls,
    noCache: given['no-cache'] === true,
    noStore: given['no-store'] === true,
    ttlMs: ms(given.ttl),
    ageMaxMs: ms(given['s-maxage'] ?? given['s-max-age']),
    namespace: typeof given.namespace === 'string' ? given.namespace : '',
    ...(typeof use === 'boolean' && { use }),
    names: Object.keys(given),
  }
}
