/** What entries of the API take from the configuration file, and what becomes of them together. */
import type { Settings } from '../../core/settings.ts'
import { Secret } from '../../lib/secret.ts'
import { secretParams } from '../sections/model-params.ts'
import type { KnownSecret } from '../secret-sources.ts'
import { isReference } from './api-references.ts'
import type { ApiReferences } from './api-references.ts'
import type { BuildContext } from './deployments.ts'
import type { ProxySettings } from './proxies.ts'

type Fields = Readonly<Record<string, unknown>>

/** A credential of the configuration file, with its references resolved. */
export interface FileCredential {
  readonly name: string
  readonly info: Fields
  /** Fields of `proxy_params`, secrets included. */
  readonly values: Fields
  /** `config.yaml:12`. */
  readonly where: string
}

/** What an entry of the API takes from the file: defaults, proxies, credentials. */
export interface EntryContext {
  readonly context: Omit<BuildContext, 'origin'>
  readonly proxies: ProxySettings
  readonly credentials: readonly FileCredential[]
  /** What entries of the API may refer to. */
  readonly references: ApiReferences
  /** Secrets that are kept elsewhere. */
  readonly secrets: ReadonlyMap<string, KnownSecret> | undefined
}

/** Settings with everything that was made by API. */
export interface MergedSettings {
  readonly settings: Settings
  /** Why models are not served, by their ids. */
  readonly notServed: ReadonlyMap<string, string>
}

/** The fields that may be shown and those that are encrypted; a reference is no secret. */
export function splitSecrets(values: Fields): { readonly visible: Fields; readonly secrets: Secret | null } {
  const isSecret = ([name, value]: [string, unknown]) =>
    (secretParams.has(name) && !isReference(value)) || (name === 'proxy' && String(value).includes('@'))
  const all = Object.entries(values)
  const hidden = all.filter(isSecret)
  return {
    visible: Object.fromEntries(all.filter(one => !isSecret(one))),
    secrets: hidden.length === 0 ? null : new Secret(JSON.stringify(Object.fromEntries(hidden))),
  }
}
