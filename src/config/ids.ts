/**
 * What a deployment is called where an answer, the ledger, a stored file or a cool-down names it. Files belong to an
 * account at a place, so that the name must stay while an operator changes how the place is reached or used: a proxy,
 * a time limit, a weight, a price, a key that is rotated.
 */
import { createHash } from 'node:crypto'
import type { Deployment } from '../core/deployment.ts'
import { readAddress } from './entry-checks.ts'
import { proxyWithoutSecrets } from './proxies.ts'
import type { ModelEntry } from './schema.ts'

type Ids = Pick<Deployment, 'id' | 'formerIds'>
type Params = ModelEntry['proxy_params']

/** What makes it another place: the provider, the address, the model there, and whose account it is. No secrets. */
const placeFields: ReadonlySet<string> = new Set<keyof Params>([
  'model', 'custom_llm_provider', 'api_base', 'organization', 'project', 'tenant_id', 'client_id',
  'vertex_project', 'vertex_location', 'aws_region_name', 'aws_bedrock_runtime_endpoint',
])

/** Rotated, and not to be guessed from a hash. */
const secretFields: ReadonlySet<string> = new Set<keyof Params>([
  'api_key', 'extra_headers', 'vertex_credentials', 'client_secret', 'azure_ad_token',
  'aws_access_key_id', 'aws_secret_access_key', 'aws_session_token',
])

/** Stable over restarts and the same on every replica. */
export function idsOf(entry: ModelEntry): Ids {
  const given = entry.model_info?.id
  if (given !== undefined) return { id: given }
  const id = hashOf(entry, Object.entries(entry.proxy_params).filter(([name]) => placeFields.has(name)).map(placeValue))
  const whole = wholeId(entry)
  return whole === id ? { id } : { id, formerIds: [whole] }
}

/** Azure's address may say a version of the API, which is no other place. */
function placeValue([name, value]: [string, unknown]): [string, unknown] {
  return [name, name === 'api_base' && String(value).includes('?') ? readAddress(String(value)).baseUrl : value]
}

/** Of all that may be seen: what every id was until it said the place alone, so that stored files and the ledger know it. */
function wholeId(entry: ModelEntry): string {
  const visible = Object.entries(entry.proxy_params).filter(([name]) => !secretFields.has(name))
  return hashOf(entry, visible.map(([name, value]) => [name, name === 'proxy' ? proxyWithoutSecrets(value as NonNullable<Params['proxy']>) : value]))
}

function hashOf(entry: ModelEntry, fields: [string, unknown][]): string {
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify([entry.model_name, sorted])).digest('hex').slice(0, 32)
}

/** Entries of one name and place differ in their settings alone: these must tell them apart, or nothing can. */
export function toldApart<Key>(entries: ReadonlyMap<Key, Deployment>): Map<Key, Deployment> {
  const counts = new Map<string, number>()
  for (const { id } of entries.values()) counts.set(id, (counts.get(id) ?? 0) + 1)
  const led = new Set<string>()
  return new Map(
    [...entries].map(([at, deployment]) => {
      const { id, formerIds: [whole] = [] } = deployment
      if (whole === undefined || counts.get(id) === 1) return [at, deployment]
      // The first was there alone, perhaps, when a file was sent.
      const formerIds = led.has(id) ? [] : [id]
      led.add(id)
      return [at, { ...deployment, id: whole, formerIds }]
    }),
  )
}
