/** Whose request it is, where proxies of the operator's stand in front. */
import { isIP } from 'node:net'
import type { HttpRequest } from '../../core/request.ts'

const hopsMax = 20

/**
 * The address of the client: the last one in `X-Forwarded-For` that no trusted proxy has (each appends its own peer).
 * Without a trusted proxy the header counts for nothing: clients write it.
 */
export function clientAddressOf(
  { headers, peerAddress }: Pick<HttpRequest, 'headers' | 'peerAddress'>,
  isTrustedProxy: (address: string) => boolean,
): string {
  if (!isTrustedProxy(peerAddress)) return peerAddress
  const hops = (headers.get('x-forwarded-for') ?? '').split(',').slice(-hopsMax)
  let client = peerAddress
  for (const hop of hops.reverse()) {
    const address = bareAddress(hop.trim())
    if (isIP(address) === 0) break
    client = address
    if (!isTrustedProxy(address)) break
  }
  return client
}

/** Without a port: `192.0.2.1:1234`, `[2001:db8::1]:1234`. */
function bareAddress(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)
  if (bracketed) return bracketed[1]!
  return /^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text
}
