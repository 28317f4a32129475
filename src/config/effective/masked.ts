/** Values of settings as they are shown: without what is secret. */
import { secretMask } from '../../core/objects/configured-objects.ts'
import type { Secrecy, SettingKey } from '../../core/setting-keys.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { Redactor } from '../../lib/redact.ts'

/** Names of members whose values are secret, where the operator or a standard chooses them. */
const secretName =
  /(?:^|[_-])(?:key|secret|token|password|credentials?|authorization|headers?)s?$|apiKey|api_key|^env$/i

const redactor = new Redactor([])
const hasAddress = /^[a-z][a-z0-9+.-]*:\/\//i

const hiddenKinds: ReadonlySet<Secrecy> = new Set(['whole', 'members', 'path'])

/** true = the value itself is never shown. */
export const isSecret = ({ secret }: Pick<SettingKey, 'secret'>): boolean =>
  secret !== undefined && hiddenKinds.has(secret)

/** A value as it is shown: secrets as `********`, addresses without passwords and keys. */
export function maskedValue(value: unknown, secret?: Secrecy): unknown {
  if (secret === 'whole') return secretMask
  if (secret === 'members') return maskAll(value)
  if (secret === 'path') return Array.isArray(value) ? value.map(maskedAddress) : maskedAddress(value)
  return maskInside(value, secret === 'named' ? secretName : undefined)
}

/** Addresses everywhere, and what stands under a name that matches. */
function maskInside(value: unknown, secret: RegExp | undefined): unknown {
  if (typeof value === 'string') return hasAddress.test(value) ? redactor.url(value) : value
  if (Array.isArray(value)) return value.map(one => maskInside(one, secret))
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([name, one]) => [name, secret?.test(name) ? maskAll(one) : maskInside(one, secret)]),
  )
}

/** The names stay, as they say what is set. */
function maskAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskAll)
  return isObject(value) ? Object.fromEntries(Object.keys(value).map(name => [name, secretMask])) : secretMask
}

/** The host alone: paths of webhooks are secrets. */
function maskedAddress(value: unknown): string {
  const text = String(value)
  return URL.canParse(text) ? `${new URL(text).origin}/${secretMask}` : secretMask
}
