/**
 * Fields by which a client steers the gateway itself (gateway API specification, chat body; the peer's names). They
 * mean the same in every dialect whose bodies may carry them.
 */
import { unprocessable } from '../../core/errors.ts'
import { noOverrides } from '../../core/overrides.ts'
import type { RequestOverrides } from '../../core/overrides.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject, ProblemList, readField } from './field-checks.ts'
import type { Fields } from './field-checks.ts'
import { fieldTable } from './field-table.ts'
import { ignoredFields, overrideFields } from './gateway-fields.ts'

const { checks } = fieldTable(overrideFields)
const names = [...checks.keys(), ...ignoredFields]

/** Throws `unprocessable` for a field of a wrong shape, in dialects that do not look at them before. */
export function readOverrides(body: JsonBody): RequestOverrides {
  let fields: Fields | undefined
  for (const name of names) if (body.has(name)) (fields ??= {})[name] = readField(body, name)
  if (!fields) return noOverrides
  const list = new ProblemList()
  for (const [name, check] of checks) if (fields[name] != null) check(fields[name], list)
  if (list.problems.length > 0) throw unprocessable(list.problems)
  return overridesOf(fields)
}

function overridesOf(fields: Fields): RequestOverrides {
  const { num_retries: retries, fallbacks, context_window_fallback_dict: larger, drop_params: dropParams } = fields
  const essential = Array.isArray(fields.guardrails) && fields.guardrails.length > 0 ? ['guardrails'] : []
  return {
    ...(typeof retries === 'number' && { retries }),
    ...(Array.isArray(fallbacks) && { fallbacks: fallbacks.map(modelOf) }),
    ...(isObject(larger) && { contextFallbacks: new Map(Object.entries(larger as Record<string, string>)) }),
    ...(typeof dropParams === 'boolean' && { dropParams }),
    // 0 = as the deployment says.
    ...(typeof fields.timeout === 'number' && fields.timeout > 0 && { timeoutMs: fields.timeout * 1000 }),
    unfulfilled: [
      ...essential,
      ...(fields.caching === true ? ['caching'] : []),
      ...(asksForCache(fields.cache) ? ['cache'] : []),
      ...ignoredFields.filter(name => fields[name] != null),
    ],
    essential,
  }
}

const modelOf = (fallback: unknown): string => (isObject(fallback) ? fallback.model : fallback) as string

/** Answers are not cached here, so that only `no-cache` and `no-store` are fulfilled. */
function asksForCache(cache: unknown): boolean {
  return isObject(cache) && Object.keys(cache).length > 0 && cache['no-cache'] !== true && cache['no-store'] !== true
}
