/**
 * The HTTP/1.1 client for upstreams, over `Bun.connect`: `fetch` hides what a gateway must know (a cut answer, a stale
 * connection) and costs a third more CPU per call (docs/decisions/0003, tests/bench/http1-micro.ts).
 */
import { isIP } from 'node:net'
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import { GatewayError } from '../../core/errors.ts'
import type { CallHead, ProxyRules, Transport, UpstreamExchange, UpstreamRequest } from '../../core/transport.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Clock } from '../../lib/clock.ts'
import { TimerWheel } from '../../lib/timer-wheel.ts'
import type { ConnectionTarget } from './connection.ts'
import { shuttingDown } from './errors.ts'
import { Exchange } from './exchange.ts'
import { Pool } from './pool.ts'
import type { Origin, PreparedHead } from './request-head.ts'
import { prepareHead } from './request-head.ts'
import { tunnelRequest } from './proxy-tunnel.ts'
import type { TlsSettings } from './socket.ts'

/** Every option has a default. The clock is the system's unless a test gives its own. */
export interface Http1Options {
  readonly clock?: Clock
  /** Free connections kept per origin; the oldest is closed when one more comes. Default 8,192. */
  readonly idlePerOriginMax?: number
  /** How long a free connection is kept. Default 50 s, below the 60 s after which most servers close. */
  readonly idleMs?: number
  /** PEM text of the only roots to trust. Default: the platform's, and those of NODE_EXTRA_CA_CERTS. */
  readonly ca?: string
  /**
   * An upstream (`host:port`) sent bytes that no request asked for, and its idle connections, `closed` in number, were
   * closed. Called at most once a minute for each origin.
   */
  unsolicited?(upstream: string, closed: number): void
}

/**
 * As many as calls are busy at once: a smaller bound closes and opens a connection a call where more clients than that
 * are served (5,000 clients over a bound of 256: twice the processor time of a call).
 */
const defaultIdlePerOriginMax = 8192
const defaultIdleMs = 50_000

/** ALPN's own format: a length byte, then the name. */
const alpnHttp1 = Buffer.from('\x08http/1.1', 'latin1')

/** A transport with its own connection pools. */
export function createHttp1Transport(options: Http1Options = {}): Transport {
  return new Http1Transport(options)
}

interface Route {
  readonly prepared: PreparedHead
  readonly pool: Pool
  readonly head: CallHead
  /** What decided about the pool. */
  readonly proxies: ProxyRules | undefined
}

function haveEqualHeaders(one: CallHead, other: CallHead): boolean {
  if (one.address !== other.address) return false
  let left = 0
  for (const name in one.headers) {
    if (one.headers[name] !== other.headers[name]) return false
    left++
  }
  for (const _ in other.headers) left--
  return left === 0
}

const lastRoutesMax = 1000

class Http1Transport implements Transport {
  readonly #options: Http1Options
  readonly #clock: Clock
  readonly #wheel: TimerWheel
  readonly #ca: string | undefined
  readonly #pools = new Map<string, Pool>()
  #routes = new WeakMap<CallHead, Route>()
  /** By URL, the route prepared last. */
  readonly #lastRoutes = new LRUCache<string, Route>(entryLimit(lastRoutesMax))
  #closed = false

  constructor(options: Http1Options) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#wheel = new TimerWheel(this.#clock)
    this.#ca = options.ca
  }

  send(request: UpstreamRequest): UpstreamExchange {
    const { head, proxies } = request
    let route = this.#routes.get(head) ?? this.#equalRoute(head)
    if (!route || route.proxies !== proxies) {
      try {
        route = this.#route(head, proxies)
      } catch (thrown) {
        if (thrown instanceof GatewayError) return refused(thrown)
        throw thrown
      }
    }
    if (this.#closed) return refused(shuttingDown())
    const { totalMs } = request.timeouts
    const totalAtMs = totalMs > 0 ? this.#clock.monotonicMs() + totalMs : Infinity
    const exchange = new Exchange(request, route.prepared, totalAtMs)
    route.pool.dispatch(exchange)
    return exchange
  }

  connections(): { busy: number; idle: number } {
    let busy = 0
    let idle = 0
    for (const pool of this.#pools.values()) {
      busy += pool.busy
      idle += pool.idle
    }
    return { busy, idle }
  }

  close(): void {
    this.#closed = true
    for (const pool of this.#pools.values()) pool.close()
  }

  #route(head: CallHead, proxies: ProxyRules | undefined): Route {
    const prepared = prepareHead(head, proxies)
    const { origin } = prepared
    let pool = this.#pools.get(origin.key)
    if (!pool) this.#pools.set(origin.key, (pool = this.#pool(origin)))
    const route = { prepared, pool, head, proxies }
    this.#routes.set(head, route)
    this.#lastRoutes.set(head.url, route)
    return route
  }

  /** A call with a token or headers of its client has its own head, often equal to the last: making one takes 20 us. */
  #equalRoute(head: CallHead): Route | undefined {
    const last = this.#lastRoutes.get(head.url)
    return last && haveEqualHeaders(last.head, head) ? last : undefined
  }

  #pool(origin: Origin): Pool {
    return new Pool({
      wheel: this.#wheel,
      target: this.#target(origin),
      idleMax: this.#options.idlePerOriginMax ?? defaultIdlePerOriginMax,
      idleMs: this.#options.idleMs ?? defaultIdleMs,
      unsolicited: closed => this.#options.unsolicited?.(`${origin.hostname}:${origin.port}`, closed),
    })
  }

  #target(origin: Origin): ConnectionTarget {
    const { proxy, hostname, address = hostname, port, secure } = origin
    // The certificate is checked for the name also where an address of it is connected to.
    if (!proxy)
      return {
        hop: { hostname: address, port, tls: secure ? this.#tls(hostname) : undefined },
        proxy,
        tunnel: undefined,
      }
    const hop = {
      hostname: proxy.hostname,
      port: proxy.port,
      tls: proxy.secure ? this.#tls(proxy.hostname) : undefined,
    }
    if (!secure) return { hop, proxy, tunnel: undefined }
    // On a socket to the proxy, the address that is connected to is not the upstream's: its own is always given.
    const tls = { ...this.#tls(hostname), serverName: hostname }
    return { hop, proxy, tunnel: { proxy, hop, hostname, tls, request: tunnelRequest(origin, proxy) } }
  }

  #tls(hostname: string): TlsSettings {
    return {
      rejectUnauthorized: true,
      ALPNProtocols: alpnHttp1,
      // RFC 6066 allows names only; the certificate of an address is checked by the address all the same.
      ...(isIP(hostname) === 0 ? { serverName: hostname } : {}),
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
    }
  }
}

function refused(error: GatewayError): UpstreamExchange {
  const response = Promise.reject(error)
  // A caller may cancel without ever looking; that must not count as an unhandled rejection.
  response.catch(() => {})
  return { response, sent: false, cancel() {} }
}
