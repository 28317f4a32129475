/**
 * Where the gateway may connect to for tools. The address that was checked is the one that is connected to: a name that
 * has another address a moment later gains nothing.
 */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { GatewayError } from '../core/errors.ts'
import { isLinkLocal } from '../lib/no-proxy.ts'
import { isPublicAddress } from '../lib/public-address.ts'

/** Resolves a name into addresses; `lookup` of `node:dns` unless a test gives its own. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

const systemResolve: Resolve = async hostname => (await lookup(hostname, { all: true })).map(one => one.address)

/**
 * The address to connect to. `mayBePrivate` = the configuration file names the host; the addresses of metadata services
 * are refused even then. Throws `upstream-unreachable`, which names the host and never its addresses.
 */
export async function checkedAddress(
  { hostname: written }: Pick<URL, 'hostname'>,
  mayBePrivate: boolean,
  resolve: Resolve = systemResolve,
): Promise<string> {
  const hostname = written.startsWith('[') ? written.slice(1, -1) : written
  const addresses = isIP(hostname) === 0 ? await resolved(hostname, resolve) : [hostname]
  const allowed = addresses.filter(one => (mayBePrivate ? !isLinkLocal(one) : isPublicAddress(one)))
  // One private address among public ones is how a name is turned against its resolver.
  if (allowed.length > 0 && (mayBePrivate || allowed.length === addresses.length)) return allowed[0]!
  throw new GatewayError(
    'upstream-unreachable',
    `the host '${hostname}' has an address of a private network, to which the gateway connects only for servers that ` +
      'its configuration file names',
  )
}

async function resolved(hostname: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    const addresses = await resolve(hostname)
    if (addresses.length > 0) return addresses
  } catch (cause) {
    throw new GatewayError('upstream-unreachable', `the host '${hostname}' has no address`, { cause })
  }
  throw new GatewayError('upstream-unreachable', `the host '${hostname}' has no address`)
}
