/** Values of settings as they are shown: without what is secret. */
import { secretMask } from '../../core/objects/configured-objects.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { Redactor } from '../../lib/redact.ts'

/** Keys of the file whose values are secret as a whole. */
const secretKeys: ReadonlySet<string> = new Set(['general_settings.master_key', 'settings.cache_params.password'])

/** Keys with names that the operator chooses: each value may be a secret. */
const secretMaps: ReadonlySet<string> = new Set(['environment_variables', 'general_settings.agent_telemetry_headers'])

/** Names of webhooks: who has the address may write there. */
const isWebhook = (key: string): boolean =>
  key.startsWith('general_settings.alert_to_webhook_url.') || key === 'general_settings.usage_export.webhook_url'

/** Values in which the names of members say what is secret: what the schema leaves open, and identity providers. */
const isOpen = (key: string): boolean => /\.(?:managed_settings\w*|sso|jwt_auth)\b/.test(key)
const secretName =
  /(?:^|[_-])(?:key|secret|token|password|credentials?|authorization|headers?)s?$|apiKey|api_key|^env$/i

const redactor = new Redactor([])
const hasAddress = /^[a-z][a-z0-9+.-]*:\/\//i

/** true = the value itself is never shown. */
export const isSecretKey = (key: string): boolean => secretKeys.has(key) || secretMaps.has(key) || isWebhook(key)

/** A value as it is shown: secrets as `********`, addresses without passwords and keys. */
export function maskedValue(key: string, value: unknown): unknown {
  if (secretKeys.has(key)) return secretMask
  if (secretMaps.has(key)) return maskAll(value)
  if (isWebhook(key)) return Array.isArray(value) ? value.map(maskedAddress) : maskedAddress(value)
  return maskInside(value, isOpen(key) ? secretName : undefined)
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
