/** The head of a request as bytes, made once per CallHead, and where it goes. */
import { GatewayError } from '../../core/errors.ts'
import { unsentHeaders } from '../../core/transport.ts'
import type { CallHead, ProxyRules, UpstreamProxy } from '../../core/transport.ts'
import { isToken } from '../syntax.ts'

/** Scheme, host, port and proxy: what requests on one connection have in common. */
export interface Origin {
  /** `https://host:443`, with the key of the proxy if there is one: equal for equal origins. */
  readonly key: string
  readonly secure: boolean
  /** A name or an address, without the brackets of IPv6. */
  readonly hostname: string
  /** See `CallHead.address`; a proxy finds the address by itself. */
  readonly address: string | undefined
  readonly port: number
  /** Absent = direct connections. */
  readonly proxy: UpstreamProxy | undefined
}

/** The heads of an upstream as bytes, up to `content-length`, which depends on the body. */
export interface PreparedHead {
  readonly origin: Origin
  readonly post: Buffer
  /** What follows the name of another method. */
  readonly target: string
}

/** Control characters other than TAB could inject headers; what is not Latin-1 cannot be encoded. */
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Throws GatewayError `upstream-unreachable` when the URL or a header cannot be sent. The message shows
 * neither; the cause names the header, never its value.
 */
export function prepareHead(head: CallHead, proxies?: ProxyRules): PreparedHead {
  let url: URL
  try {
    url = new URL(head.url)
  } catch {
    throw unusable('the URL of this upstream is not valid')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw unusable('the URL of this upstream is neither http nor https')
  if (url.username || url.password)
    throw unusable('the URL of this upstream holds credentials; give them as api_key or as a header')
  const origin = originOf(url, proxies?.proxyFor(url), head.address)
  // A proxy that is not asked for a tunnel reads the request itself: it needs the whole address (RFC 9112, 3.2.2).
  const reader = origin.secure ? undefined : origin.proxy
  let lines = `host: ${url.host}\r\naccept-encoding: identity\r\n`
  let hasUserAgent = false
  if (reader?.authorization) lines += `proxy-authorization: ${reader.authorization.reveal()}\r\n`
  for (const [name, value] of Object.entries(head.headers)) {
    const lower = name.toLowerCase()
    if (!isToken(name)) throw unusable(headerProblem, new Error('the name of a header is not a token'))
    if (typeof value !== 'string' || forbiddenInValue.test(value))
      throw unusable(headerProblem, new Error(`the header ${lower} holds a character that HTTP forbids`))
    if (unsentHeaders.has(lower) || (lower === 'proxy-authorization' && reader?.authorization)) continue
    if (lower === 'user-agent') hasUserAgent = true
    lines += `${name}: ${value}\r\n`
  }
  if (!hasUserAgent) lines += 'user-agent: modelgate\r\n'
  const target = `${reader ? url.origin : ''}${url.pathname}${url.search} HTTP/1.1\r\n${lines}`
  return {
    origin,
    post: Buffer.from(`POST ${target}`, 'latin1'),
    target,
  }
}

const headerProblem = 'the settings of this upstream hold a header that HTTP forbids; the log names it'

function originOf(url: URL, proxy: UpstreamProxy | undefined, given: string | undefined): Origin {
  const secure = url.protocol === 'https:'
  const port = url.port ? Number(url.port) : secure ? 443 : 80
  const hostname = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  const address = proxy ? undefined : given
  const key = `${url.protocol}//${url.hostname}:${port}${proxy ? ` ${proxy.key}` : ''}${address ? ` ${address}` : ''}`
  return { key, secure, hostname, address, port, proxy }
}

function unusable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('upstream-unreachable', message, { cause })
}
