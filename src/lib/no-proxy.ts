/**
 * Which hosts are reached without a proxy: the list of NO_PROXY, and addresses of this machine. Names are compared as
 * they are written, never looked up, as curl does (curl.se/docs/manpage.html#NOPROXY).
 */
import { BlockList, isIP, isIPv6 } from 'node:net'

/** A host with its port, as URLs have them. */
export interface HostAndPort {
  /** Lower case; IPv6 with or without brackets. */
  readonly hostname: string
  readonly port: number
}

/** One entry: what it names, and on which port alone. */
interface Exception {
  /** Absent = every port. */
  readonly port: number | undefined
  matches(hostname: string): boolean
}

const namePattern =
  /^(?=.{1,253}$)[\p{L}\p{N}_]([\p{L}\p{N}_-]*[\p{L}\p{N}_])?(\.[\p{L}\p{N}_]([\p{L}\p{N}_-]*[\p{L}\p{N}_])?)*$/u

/** `host`, `.suffix`, `*.suffix`, addresses, `address/bits`, each also with `:port`; `*` = every host. */
export class NoProxy {
  /** Entries that name nothing. */
  readonly unreadable: readonly string[]
  readonly #exceptions: readonly Exception[]

  /** Entries are apart by commas or spaces. */
  constructor(text: string) {
    const unreadable: string[] = []
    this.#exceptions = text.split(/[\s,]+/).flatMap(entry => {
      if (entry === '') return []
      const exception = exceptionOf(entry)
      if (!exception) unreadable.push(entry)
      return exception ?? []
    })
    this.unreadable = unreadable
  }

  names({ hostname, port }: HostAndPort): boolean {
    const host = bare(hostname)
    return this.#exceptions.some(one => (one.port === undefined || one.port === port) && one.matches(host))
  }
}

function exceptionOf(entry: string): Exception | undefined {
  if (entry === '*') return { port: undefined, matches: () => true }
  const [, host = '', digits] = isIPv6(entry)
    ? [entry, entry]
    : (/^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(entry) ?? [])
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  // Of a range the brackets, if any, are around the address alone, so that it has no port: `fd00::/8`, `10.0.0.0/8`.
  const matches = entry.includes('/') ? rangeMatcher(entry) : hostMatcher(bare(host.toLowerCase()))
  return matches && { port, matches }
}

function hostMatcher(host: string): Exception['matches'] | undefined {
  if (isIP(host) !== 0) return rangeMatcher(`${host}/${isIPv6(host) ? 128 : 32}`)
  const isBelowOnly = host.startsWith('*.')
  const name = host.replace(/^\*?\./, '')
  if (!namePattern.test(name)) return undefined
  return hostname => (hostname === name && !isBelowOnly) || hostname.endsWith(`.${name}`)
}

function rangeMatcher(range: string): Exception['matches'] | undefined {
  const [, address = '', digits] = /^\[?([0-9a-fA-F:.]+)\]?\/(\d{1,3})$/.exec(range) ?? []
  const kind = isIP(address)
  const bits = Number(digits)
  if (kind === 0 || bits > (kind === 6 ? 128 : 32)) return undefined
  const list = new BlockList()
  list.addSubnet(address, bits, kind === 6 ? 'ipv6' : 'ipv4')
  return hostname => contains(list, hostname)
}

/** Also finds an IPv4 address that is written as IPv6. */
function contains(list: BlockList, hostname: string): boolean {
  const kind = isIP(hostname)
  return kind !== 0 && list.check(hostname, kind === 6 ? 'ipv6' : 'ipv4')
}

/** Without brackets, and without the dot that ends a full name. */
function bare(hostname: string): string {
  const open = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname
  return open.length > 1 && open.endsWith('.') ? open.slice(0, -1) : open
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
// The unspecified address leads to this machine, too.
loopback.addAddress('0.0.0.0', 'ipv4')
loopback.addAddress('::', 'ipv6')
loopback.addAddress('::1', 'ipv6')

/** This machine, by name or address. */
export function isLoopback(hostname: string): boolean {
  const host = bare(hostname)
  return host === 'localhost' || host.endsWith('.localhost') || contains(loopback, host)
}

const link = new BlockList()
link.addSubnet('169.254.0.0', 16, 'ipv4')
link.addSubnet('fe80::', 10, 'ipv6')
// The metadata service of EC2 (docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html).
link.addAddress('fd00:ec2::254', 'ipv6')

/** What answers on this machine's own link alone: the metadata services of clouds, which hand out credentials. */
export function isLinkLocal(hostname: string): boolean {
  const host = bare(hostname)
  return host === 'metadata.google.internal' || contains(link, host)
}
