/** Removes from texts the addresses of private networks: they show how the operator's machines are reached. */
import { BlockList, isIP } from 'node:net'
import { isLinkLocal, isLoopback } from './no-proxy.ts'

/** In place of an address. */
const hiddenAddress = '[address]'

const inner = new BlockList()
// RFC 1918, RFC 6598 (carrier-grade NAT), RFC 4193.
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  inner.addSubnet(net, bits, 'ipv4')
inner.addSubnet('fc00::', 7, 'ipv6')

/** Names that no public DNS resolves (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`, Kubernetes). */
const privateName = /(^|\.)(localhost|local|localdomain|internal|intranet|lan|corp|home|svc|home\.arpa|test)$/i

/** Addresses of private networks and of this machine, names of inner zones, and names without a dot. */
function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  const kind = isIP(host)
  if (isLoopback(host) || isLinkLocal(host)) return true
  if (kind !== 0) return inner.check(host, kind === 6 ? 'ipv6' : 'ipv4')
  return privateName.test(host) || !host.includes('.')
}

const urls = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'`<>()]+/gi
const ipv4s = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.]*\w)/g
const ipv6s = /(?<![\w:.])(\[?)([0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:\.\d{1,3}){0,3})(\]?)(?::\d{1,5})?/gi
const names = /(?<![\w.-])(?:[a-z0-9_-]{1,63}\.){0,10}[a-z0-9_-]{1,63}(?::\d{1,5})?(?![\w-])/gi

/**
 * `ownHost` = the host of the upstream itself, with its port, which is hidden though it may be public. Long texts take
 * long: cut them first.
 */
export function withoutPrivateAddresses(text: string, ownHost: string | undefined): string {
  const [own = ''] = ownHost?.split(/:\d+$/) ?? []
  const isHidden = (host: string): boolean => host.toLowerCase() === own || isPrivateHost(host)
  return text
    .replace(urls, url => {
      const end = /[.,;:!?\]}]*$/.exec(url)![0]
      const address = url.slice(0, url.length - end.length)
      return URL.canParse(address) && isHidden(new URL(address).hostname) ? hiddenAddress + end : url
    })
    .replace(ipv4s, address => (isHidden(address.replace(/:\d+$/, '')) ? hiddenAddress : address))
    .replace(ipv6s, (all: string, _open: string, address: string) =>
      isIP(address) === 6 && isHidden(address) ? hiddenAddress : all,
    )
    .replace(names, name => {
      const [host = '', port] = name.toLowerCase().split(':')
      // A single word may be anything, unless it has the port of the upstream behind it.
      const isOwn = host === own && (host.includes('.') || port !== undefined)
      return isOwn || host === 'localhost' || (host.includes('.') && privateName.test(host)) ? hiddenAddress : name
    })
}
