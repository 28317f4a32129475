/** Fields that a key wants each of its calls to have. */
import { unprocessable } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { JsonBody } from '../lib/json/json-body.ts'

/** Throws `unprocessable` with every field of `enforced_params` that the body does not have. */
export function enforcedParams(): Policy {
  return {
    name: 'enforced-params',
    stage: 'body',
    admit({ caller, format, body }) {
      const { enforcedParams: wanted = none } = caller.key
      if (wanted.length === 0 || !format || !body) return
      const missing = wanted.filter(path => !has(body, path))
      if (missing.length > 0)
        throw unprocessable(
          missing.map(path => ({
            loc: ['body', ...path.split('.')],
            msg: 'is missing; the `enforced_params` of this key want it in every call',
            type: 'missing',
          })),
        )
    },
  }
}

const none: readonly string[] = []

/** `metadata.job` = the field `job` of the object `metadata`. */
function has(body: JsonBody, path: string): boolean {
  const [field = '', ...rest] = path.split('.')
  if (rest.length === 0) return body.has(field)
  let value: unknown = body.has(field) ? body.get(field) : undefined
  for (const name of rest) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false
    value = (value as Record<string, unknown>)[name]
  }
  return true
}
