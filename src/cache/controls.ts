/** What a call says about the cache: fields of its body and the header `Cache-Control` (RFC 9111, 5.2.1). */
import { noCacheControls } from '../core/cache/cache-settings.ts'
import type { CacheControls } from '../core/cache/cache-settings.ts'
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'

/** Throws `forbidden` where the key may not use a control of the body. */
export function controlsOf({ overrides, headers, caller }: Call): CacheControls {
  const own = overrides.cache ?? noCacheControls
  const { allowedCacheControls: allowed } = caller.key
  const wrong = allowed.length > 0 ? own.names.find(name => !allowed.includes(name)) : undefined
  if (wrong !== undefined)
    throw new GatewayError(
      'forbidden',
      `this key may not set \`cache.${wrong}\`, only ${allowed.join(', ')}; leave it out, or ask for a key that may`,
      { param: `cache.${wrong}` },
    )
  const header = headers?.get('cache-control') ?? ''
  return header === '' ? own : withHeader(own, header, allowed)
}

/** Directives that the key may not use, and all that mean nothing to a request of this kind, are passed over. */
function withHeader(own: CacheControls, header: string, allowed: readonly string[]): CacheControls {
  const given = new Map(
    header.split(',').map((part): [string, string] => {
      const [name = '', value = ''] = part.split('=')
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', '')]
    }),
  )
  const has = (name: string) => given.has(name) && (allowed.length === 0 || allowed.includes(name))
  const age = has('s-maxage') ? given.get('s-maxage') : has('max-age') ? given.get('max-age') : undefined
  const ageMaxMs = age !== undefined && /^\d{1,9}$/.test(age) ? Number(age) * 1000 : own.ageMaxMs
  return { ...own, noCache: own.noCache || has('no-cache'), noStore: own.noStore || has('no-store'), ageMaxMs }
}
