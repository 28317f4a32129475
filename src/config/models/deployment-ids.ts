/**
 * What a deployment is called where an answer, the ledger, a stored file or a cool-down names it. Files belong to an
 * account at a place, so that the name must stay while an operator changes how the place is reached or used: a proxy,
 * a time limit, a weight, a price, a key that is rotated.
 */
import { createHash } from 'node:crypto'
import { readAddress } from '../file/entry-checks.ts'
import { proxyWithoutSecrets } from './proxies.ts'
import type { ModelEntry } from '../file/schema.ts'

type Params = ModelEntry['proxy_params']

/** What makes it another place: the provider, the address, the model there, and whose account it is. No secrets. */
const placeFields: ReadonlySet<string> = new Set<keyof Params>([
  'model',
  'custom_llm_provider',
  'api_base',
  'organization',
  'project',
  'tenant_id',
  'client_id',
  'vertex_project',
  'vertex_location',
  'aws_region_name',
  'aws_bedrock_runtime_endpoint',
])

/** Rotated, and not to be guessed from a hash. */
const secretFields: ReadonlySet<string> = new Set<keyof Params>([
  'api_key',
  'extra_headers',
  'vertex_credentials',
  'client_secret',
  'azure_ad_token',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
])

/** The given id, or that of the place. Stable over restarts and the same on every replica. */
export function placeIdOf(entry: ModelEntry): string {
  return (
    entry.model_info?.id ??
    hashOf(
      entry,
      'place',
      Object.entries(entry.proxy_params)
        .filter(([name]) => placeFields.has(name))
        .map(placeValue),
    )
  )
}

/**
 * Entries of one name and place, in the order of their list: the first has the id of the place, so that what it had
 * alone stays its own; the others differ in their settings alone, which must tell them apart, or nothing can.
 */
export class EntryIds {
  /** By place: the ids that are taken there, by settings. */
  readonly #places = new Map<string, Map<string, string>>()

  /** The id of an entry before it means that nothing tells them apart. */
  idOf(entry: ModelEntry): string {
    const placeId = placeIdOf(entry)
    if (entry.model_info?.id !== undefined) return placeId
    const settingsId = settingsIdOf(entry)
    const taken = this.#places.get(placeId)
    if (taken === undefined) this.#places.set(placeId, new Map([[settingsId, placeId]]))
    else if (!taken.has(settingsId)) taken.set(settingsId, settingsId)
    return taken?.get(settingsId) ?? placeId
  }
}

/** Azure's address may say a version of the API, which is no other place. */
function placeValue([name, value]: [string, unknown]): [string, unknown] {
  return [name, name === 'api_base' && String(value).includes('?') ? readAddress(String(value)).baseUrl : value]
}

function settingsIdOf(entry: ModelEntry): string {
  const visible = Object.entries(entry.proxy_params).filter(([name]) => !secretFields.has(name))
  return hashOf(
    entry,
    'settings',
    visible.map(([name, value]) => [
      name,
      name === 'proxy' ? proxyWithoutSecrets(value as NonNullable<Params['proxy']>) : value,
    ]),
  )
}

function hashOf(entry: ModelEntry, of: 'place' | 'settings', fields: [string, unknown][]): string {
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([of, entry.model_name, sorted]))
    .digest('hex')
    .slice(0, 32)
}
