/**
 * Ids of deployments, used in response headers, the ledger, stored files and cooldowns. Uploaded files belong to an
 * account at an address, so the id must not change with how that address is used: proxy, timeouts, weight, prices, key
 * rotation.
 */
import { createHash } from 'node:crypto'
import { readAddress } from '../checks/entry-checks.ts'
import { proxyWithoutSecrets } from './proxies.ts'
import { secretParams } from '../sections/model-params.ts'
import type { ModelEntry } from '../sections/models.ts'

type Params = ModelEntry['proxy_params']

/** The fields that identify an account and model at an upstream. No secrets. */
export const identityFields: ReadonlySet<string> = new Set<keyof Params>([
  'model',
  'custom_llm_provider',
  'api_base',
  'organization',
  'project',
  'tenant_id',
  'client_id',
  'azure_credential',
  'vertex_project',
  'vertex_location',
  'aws_region_name',
  'aws_profile_name',
  'aws_role_name',
  'aws_bedrock_runtime_endpoint',
])

/** The configured id, or a hash of the fields that identify it. Stable over restarts and equal on every replica. */
export function identityOf(entry: ModelEntry): string {
  return (
    entry.model_info?.id ??
    hashOf(
      entry,
      'place',
      Object.entries(entry.proxy_params)
        .filter(([name]) => identityFields.has(name))
        .map(identityValue),
    )
  )
}

/**
 * Assigns ids to entries with the same name and identity, in list order. The first has the id of the identity, as if it
 * were alone; the others have a hash of their settings, and of their number among those that differ in secrets alone.
 */
export class EntryIds {
  /** By identity and by settings: the id of the first such entry, and the secrets of all, in list order. */
  readonly #idsByIdentity = new Map<string, Map<string, { readonly id: string; readonly secrets: string[] }>>()

  /** Returning the id of an earlier entry means that the two entries are identical. */
  idOf(entry: ModelEntry): string {
    const identity = identityOf(entry)
    if (entry.model_info?.id !== undefined) return identity
    const settingsId = settingsIdOf(entry)
    const secrets = secretsOf(entry)
    let groups = this.#idsByIdentity.get(identity)
    if (groups === undefined) this.#idsByIdentity.set(identity, (groups = new Map()))
    const group = groups.get(settingsId)
    if (group === undefined) {
      const id = groups.size === 0 ? identity : settingsId
      groups.set(settingsId, { id, secrets: [secrets] })
      return id
    }
    if (!group.secrets.includes(secrets)) group.secrets.push(secrets)
    const number = group.secrets.indexOf(secrets)
    return number === 0 ? group.id : settingsIdOf(entry, number)
  }
}

/** Compared in memory and never hashed into an id. */
function secretsOf({ proxy_params: params }: ModelEntry): string {
  return JSON.stringify(
    Object.entries(params)
      .filter(([name]) => secretParams.has(name))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** The API version in Azure's address does not identify the account. */
function identityValue([name, value]: [string, unknown]): [string, unknown] {
  return [name, name === 'api_base' && String(value).includes('?') ? readAddress(String(value)).baseUrl : value]
}

/** `number` = among the entries with these settings, from 0. */
function settingsIdOf(entry: ModelEntry, number = 0): string {
  const visible = Object.entries(entry.proxy_params).filter(([name]) => !secretParams.has(name))
  return hashOf(
    entry,
    number === 0 ? 'settings' : `settings, key ${number + 1}`,
    visible.map(([name, value]) => [
      name,
      name === 'proxy' ? proxyWithoutSecrets(value as NonNullable<Params['proxy']>) : value,
    ]),
  )
}

function hashOf(entry: ModelEntry, of: string, fields: [string, unknown][]): string {
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1))
  const team = entry.model_info?.team_id
  return createHash('sha256')
    .update(JSON.stringify([of, entry.model_name, sorted, ...(team === undefined ? [] : [team])]))
    .digest('hex')
    .slice(0, 32)
}
