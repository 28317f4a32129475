/** Credentials that models name: their values stand under those of the model itself, as in LiteLLM. */
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Credentials, Finding } from './reading.ts'

/**
 * The credentials of a file in our names, but for those at the `unusable` places of the list; those without a name or
 * values are left to the schema.
 */
export function credentialsOf(value: unknown, unusable: ReadonlySet<unknown>): Credentials {
  const found = new Map<string, Readonly<Record<string, unknown>>>()
  if (!isObject(value)) return found
  for (const [at, { credential_name: name, credential_values: values }] of objectsOf(value.credential_list).entries())
    if (typeof name === 'string' && isObject(values) && !unusable.has(at)) found.set(name, values)
  return found
}

/** Splits findings: those inside of credentials that no model of the file names do not keep the file from starting. */
export function withoutSpare(
  findings: readonly Finding[],
  value: unknown,
): { readonly needed: Finding[]; readonly spare: Finding[] } {
  if (!isObject(value)) return { needed: [...findings], spare: [] }
  const named = new Set(
    objectsOf(value.model_list).map(({ proxy_params: params }) => isObject(params) && params.credential_name),
  )
  const names = objectsOf(value.credential_list).map(one => one.credential_name)
  const isSpare = ({ path }: Finding) => path[0] === 'credential_list' && !named.has(names[Number(path[1])] as string)
  return { needed: findings.filter(one => !isSpare(one)), spare: findings.filter(isSpare) }
}

/** Fills in the values of the credentials that entries name. An unknown name is a mistake. */
export function withCredentials(value: unknown, credentials: Credentials, findings: Finding[]): unknown {
  if (!isObject(value) || !Array.isArray(value.model_list)) return value
  const list = value.model_list.map((entry: unknown, at) => {
    const params = isObject(entry) ? entry.proxy_params : undefined
    if (!isObject(entry) || !isObject(params) || typeof params.credential_name !== 'string') return entry
    const values = credentials.get(params.credential_name)
    if (values) return { ...entry, proxy_params: { ...values, ...params } }
    findings.push({
      path: ['model_list', at, 'proxy_params', 'credential_name'],
      message: `no credential has this name${names(credentials)}`,
    })
    return entry
  })
  return { ...value, model_list: list }
}

const namesShownMax = 5

function names(credentials: Credentials): string {
  const known = [...credentials.keys()].slice(0, namesShownMax).map(name => `\`${name}\``)
  return known.length === 0 ? '; there are none' : `; there are ${known.join(', ')}`
}
