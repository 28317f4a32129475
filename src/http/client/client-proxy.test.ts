import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localhostAndAddresses, localhostOnly } from '../../../tests/support/network/certificates.ts'
import { connectProxy } from '../../../tests/support/network/connect-proxy.ts'
import type { ConnectProxy, ConnectProxyOptions, ProxyPeer } from '../../../tests/support/network/connect-proxy.ts'
import { failure, piped, Recorder, text } from '../../../tests/support/network/http-client-rig.ts'
import { answer, rawUpstream, timeouts } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { RawOptions, RawUpstream } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { ExchangeTimeouts, ProxyRules, Transport, UpstreamExchange, UpstreamProxy } from '../../core/transport.ts'
import { Secret } from '../../lib/secret.ts'
import { createHttp1Transport } from './client.ts'
import { until } from '../../../tests/support/until.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})
function closing<T extends { stop(): void }>(part: T): T {
  cleanups.push(() => part.stop())
  return part
}

type Scheme = 'http' | 'https'
const authorization = `Basic ${Buffer.from('secret-user:secret-password').toString('base64')}`

/** Every URL through the proxy at this port of `localhost`. */
function through(port: number, scheme: Scheme = 'http', proof?: string): ProxyRules {
  const proxy: UpstreamProxy = {
    key: `${scheme}://localhost:${port} ${proof ?? ''}`,
    name: `localhost:${port}`,
    secure: scheme === 'https',
    hostname: 'localhost',
    port,
    authorization: proof === undefined ? undefined : new Secret(proof),
  }
  return { proxyFor: () => proxy }
}

interface Given {
  scheme?: Scheme
  onRequest?: RawOptions['onRequest']
  proxy?: ConnectProxyOptions
  /** Of the upstream's certificate; it is trusted unless `ca` says something else. */
  certificate?: typeof localhostOnly
  ca?: string
  host?: string
  proof?: string
}

interface Rig {
  readonly upstream: RawUpstream
  readonly proxy: ConnectProxy
  readonly transport: Transport
  send(given?: Partial<ExchangeTimeouts>, body?: readonly Uint8Array[]): UpstreamExchange
}

const head = (url: string) => ({ url, headers: { authorization: 'secret-header' } })

/** An https upstream, a proxy, and a transport that reaches the one through the other. */
async function rig(given: Given = {}): Promise<Rig> {
  const { scheme = 'http', certificate = localhostAndAddresses, host = 'localhost' } = given
  const upstream = closing(
    await rawUpstream({
      tls: { ...certificate },
      onRequest: given.onRequest ?? (peer => peer.socket.write(answer('hello'))),
    }),
  )
  const proxy = closing(
    await connectProxy({ ...given.proxy, tls: scheme === 'https' ? localhostAndAddresses : undefined }),
  )
  const transport = createHttp1Transport({ ca: given.ca ?? `${certificate.cert}\n${localhostAndAddresses.cert}` })
  cleanups.push(() => transport.close())
  const proxies = through(proxy.port, scheme, given.proof)
  const url = `https://${host}:${upstream.port}/secret-path`
  return {
    upstream,
    proxy,
    transport,
    send: (times = {}, body = [Buffer.from('{"a":"secret-body"}')]) =>
      transport.send({ method: 'POST', head: head(url), body, timeouts: timeouts(times), proxies }),
  }
}

const none = { busy: 0, idle: 0 }

for (const scheme of ['http', 'https'] as const)
  describe(`an https upstream through an ${scheme} proxy`, () => {
    test('is asked for by CONNECT; the proxy sees no byte of the call, the upstream nothing of the proxy', async () => {
      const { send, proxy, upstream } = await rig({ scheme, proof: authorization })
      expect(await text(send())).toBe('hello')
      const [peer] = proxy.peers
      const target = `localhost:${upstream.port}`
      expect(peer!.head).toBe(
        `CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\nuser-agent: modelgate\r\nproxy-authorization: ${authorization}\r\n\r\n`,
      )
      expect(peer!.inside.length).toBeGreaterThan(200)
      expect(peer!.inside).not.toContain('secret')
      const [seen] = upstream.peers
      expect(seen!.received).toStartWith('POST /secret-path HTTP/1.1\r\n')
      expect(seen!.received).toEndWith('\r\n\r\n{"a":"secret-body"}')
      expect(seen!.received).not.toContain('proxy-authorization')
      expect((seen!.socket as TLSSocket & { servername?: string }).servername).toBe('localhost')
    })

    test('is kept and used again, by those with the same proxy and credentials alone', async () => {
      const { send, proxy, transport, upstream } = await rig({ scheme })
      for (let i = 0; i < 3; i++) expect(await text(send())).toBe('hello')
      expect(proxy.peers.length).toBe(1)
      expect(transport.connections()).toEqual({ busy: 0, idle: 1 })
      const request = {
        method: 'GET',
        head: head(`https://localhost:${upstream.port}/secret-path`),
        body: [],
        timeouts: timeouts(),
      } as const
      expect(await text(transport.send({ ...request, proxies: through(proxy.port, scheme, authorization) }))).toBe(
        'hello',
      )
      expect(proxy.peers.map(peer => peer.head.includes('proxy-authorization'))).toEqual([false, true])
      expect(await text(transport.send({ ...request, proxies: { proxyFor: () => undefined } }))).toBe('hello')
      expect(await text(transport.send(request))).toBe('hello')
      expect(proxy.peers.length).toBe(2)
      expect(transport.connections()).toEqual({ busy: 0, idle: 3 })
    })

    test('bytes may be cut anywhere', async () => {
      const established = 'HTTP/1.0 200 OK\r\nvia: a, b\r\ncontent-length: 12\r\n\r\n'
      const { send } = await rig({ scheme, proxy: { byteByByte: true, established } })
      expect(await text(send())).toBe('hello')
      expect(await text(send())).toBe('hello')
    })

    test('large bodies go both ways, at the pace of the reader', async () => {
      const large = Buffer.alloc(2 * 1024 * 1024, 'abcdefgh')
      const { send, upstream } = await rig({
        scheme,
        onRequest: peer => void peer.socket.write(answer(large.toString('latin1'))),
      })
      expect(await text(send({}, [large]), 1e8)).toBe(large.toString('latin1'))
      expect(upstream.peers[0]!.received.endsWith(large.subarray(-1000).toString('latin1'))).toBe(true)
      const { body } = await send().response
      const sink = new Recorder()
      sink.onData = () => {
        body.pause()
        setTimeout(() => body.resume(), 0)
      }
      body.pipe(sink)
      await until(() => sink.over, 'the end')
      expect([sink.bytes, sink.ends, sink.error]).toEqual([large.length, 1, undefined])
    })

    test('a hundred calls at once', async () => {
      const { send, proxy, transport } = await rig({ scheme })
      expect(new Set(await Promise.all(Array.from({ length: 100 }, () => text(send()))))).toEqual(new Set(['hello']))
      expect(transport.connections()).toEqual({ busy: 0, idle: proxy.peers.length })
    })

    test('the certificate is judged by the name or the address of the upstream, never of the proxy', async () => {
      const byName = await rig({ scheme, certificate: localhostOnly, host: '127.0.0.1' })
      const error = await failure(byName.send().response)
      expect(error.message).toBe(
        `the upstream cannot be reached through the proxy localhost:${byName.proxy.port}: its TLS certificate is for another name`,
      )
      expect(byName.upstream.requests()).toBe(0)
      expect(await text((await rig({ scheme, host: '127.0.0.1' })).send())).toBe('hello')
      const untrusted = await rig({ scheme, certificate: localhostOnly, ca: localhostAndAddresses.cert })
      expect((await failure(untrusted.send().response)).message).toContain(
        'its TLS certificate is self-signed and not trusted',
      )
      expect(untrusted.upstream.requests()).toBe(0)
      await until(() => untrusted.proxy.peers[0]!.closed, 'the proxy sees the end')
    })

    test('NODE_EXTRA_CA_CERTS adds a root for proxy and upstream', async () => {
      const { proxy, upstream } = await rig({ scheme })
      const folder = mkdtempSync(join(tmpdir(), 'modelgate-proxy-'))
      cleanups.push(() => rmSync(folder, { recursive: true }))
      writeFileSync(join(folder, 'ca.pem'), localhostAndAddresses.cert)
      const program = `
        import { createHttp1Transport } from ${JSON.stringify(join(import.meta.dir, 'client.ts'))}
        const head = { url: 'https://localhost:${upstream.port}/', headers: {} }
        const timeouts = { connectMs: 2000, firstByteMs: 2000, idleMs: 2000, totalMs: 0 }
        const proxy = { key: 'k', name: 'p', secure: ${scheme === 'https'}, hostname: 'localhost', port: ${proxy.port} }
        const proxies = { proxyFor: () => proxy }
        const { response } = createHttp1Transport().send({ method: 'GET', head, body: [], timeouts, proxies })
        process.stdout.write(Buffer.from(await (await response).body.bytes(100)).toString())
        process.exit(0)`
      const child = Bun.spawn([process.execPath, '-e', program], {
        env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      expect([await new Response(child.stdout).text(), await new Response(child.stderr).text()]).toEqual(['hello', ''])
      expect(proxy.peers.length).toBe(1)
    })

    const refusals: [what: string, said: string, message: string, proof?: string][] = [
      [
        'asks for a password',
        'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="x"\r\ncontent-length: 3\r\n\r\nno!',
        'asks for a user and a password; the gateway has none for it (status 407)',
      ],
      [
        'refuses the password',
        'HTTP/1.1 407 No\r\n\r\n',
        'does not accept the user and password that the gateway has for it (status 407)',
        authorization,
      ],
      [
        'forbids the host',
        'HTTP/1.1 403 Forbidden\r\ncontent-length: 9\r\n\r\nforbidden',
        'does not allow connections to the upstream (status 403)',
      ],
      [
        'cannot reach the upstream',
        'HTTP/1.0 502 Bad Gateway\r\n\r\n<html>',
        'did not connect to the upstream (status 502)',
      ],
      [
        'redirects',
        'HTTP/1.1 302 Found\r\nlocation: https://evil.example/secret\r\n\r\n',
        'did not connect to the upstream (status 302)',
      ],
    ]
    for (const [what, said, message, proof] of refusals)
      test(`a proxy that ${what} is a connection that never stood`, async () => {
        const { send, upstream, proxy, transport } = await rig({
          scheme,
          proof,
          proxy: { onHead: peer => void peer.socket.write(said) },
        })
        const error = await failure(send().response)
        expect([error.kind, error.message]).toEqual([
          'upstream-unreachable',
          `the proxy localhost:${proxy.port} ${message}`,
        ])
        await until(() => proxy.peers.every(peer => peer.closed), 'the proxy sees the end')
        expect([upstream.peers.length, transport.connections()]).toEqual([0, none])
      })

    const oddities: [what: string, said: string, reason: string][] = [
      ['answers garbage', '\x16\x03\x01garbage', 'the answer is not HTTP/1.1'],
      [
        'answers a head without end',
        `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}`,
        'the headers are larger than 64 KiB',
      ],
      ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'it switched protocols'],
      ['answers interim responses for ever', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(40), 'too many interim responses'],
      [
        'sends bytes of the upstream with its answer',
        `HTTP/1.1 200 OK\r\n\r\n${answer('a forged answer')}`,
        'it sent bytes before the upstream was asked',
      ],
    ]
    for (const [what, said, reason] of oddities)
      test(`a proxy that ${what} is refused`, async () => {
        const { send, upstream, proxy, transport } = await rig({
          scheme,
          proxy: { onHead: peer => void peer.socket.write(said, 'latin1') },
        })
        const error = await failure(send().response)
        expect(error.kind).toBe('upstream-unreachable')
        expect(error.message).toStartWith(`the answer of the proxy localhost:${proxy.port} is malformed: ${reason}`)
        await until(() => proxy.peers.every(peer => peer.closed), 'the proxy sees the end')
        expect([upstream.peers.length, transport.connections()]).toEqual([0, none])
      })

    test('an interim answer before the tunnel, and any 2xx, are as good as a 200', async () => {
      for (const established of [
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
        'HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n',
      ])
        expect(await text((await rig({ scheme, proxy: { established } })).send())).toBe('hello')
    })

    test('a proxy that closes, resets or stays silent instead of answering', async () => {
      const ends: [(peer: ProxyPeer) => void, string][] = [
        [peer => peer.socket.end(), 'closed the connection instead of connecting to the upstream'],
        [
          peer => peer.socket.end('HTTP/1.1 200 OK\r\nx: '),
          'closed the connection instead of connecting to the upstream',
        ],
        [peer => peer.socket.destroy(), 'closed the connection instead of connecting to the upstream'],
        [() => {}, 'did not connect to the upstream within 0.15 s'],
        [peer => void peer.socket.write('HTTP/1.1 200'), 'did not connect to the upstream within 0.15 s'],
      ]
      for (const [onHead, message] of ends) {
        const { send, proxy, transport } = await rig({ scheme, proxy: { onHead } })
        const error = await failure(send({ connectMs: 150 }).response)
        expect([error.kind, error.message]).toEqual([
          'upstream-unreachable',
          `the proxy localhost:${proxy.port} ${message}`,
        ])
        await until(() => proxy.peers.every(peer => peer.closed), 'the proxy sees the end')
        expect(transport.connections()).toEqual(none)
      }
    })

    test('a tunnel that leads nowhere, or is cut during the TLS handshake', async () => {
      const ends: [string, (peer: ProxyPeer) => void, RegExp][] = [
        ['silent', peer => void peer.socket.write('HTTP/1.1 200 OK\r\n\r\n'), /: no connection within 0\.25 s$/],
        [
          'cut',
          peer => {
            peer.socket.write('HTTP/1.1 200 OK\r\n\r\n')
            setTimeout(() => peer.socket.destroy(), 30)
          },
          /: (the connection failed|it closed the connection before it was established|the TLS handshake failed)/,
        ],
        [
          'no TLS',
          peer => {
            peer.socket.write('HTTP/1.1 200 OK\r\n\r\n')
            setTimeout(() => peer.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'), 30)
          },
          /: (the TLS handshake failed|the connection failed)/,
        ],
      ]
      for (const [what, onHead, message] of ends) {
        const { send, proxy, transport } = await rig({ scheme, proxy: { onHead } })
        const error = await failure(send({ connectMs: 250 }).response)
        expect([what, error.kind]).toEqual([what, 'upstream-unreachable'])
        expect(error.message).toStartWith(`the upstream cannot be reached through the proxy localhost:${proxy.port}`)
        expect(error.message).toMatch(message)
        await until(() => proxy.peers.every(peer => peer.closed), 'the proxy sees the end')
        expect(transport.connections()).toEqual(none)
      }
    })

    test('a proxy that dies in the middle of an answer cuts it; one that dies idle is replaced unnoticed', async () => {
      let dies = true
      const { send, proxy, transport } = await rig({
        scheme,
        onRequest(peer) {
          if (!dies) return void peer.socket.write(answer('hello'))
          peer.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhel')
          setTimeout(() => proxy.peers.at(-1)!.socket.destroy(), 30)
        },
      })
      const sink = await piped(send())
      expect([sink.text, sink.error?.kind]).toEqual(['hel', 'upstream-closed'])
      expect(transport.connections()).toEqual(none)
      dies = false
      expect(await text(send())).toBe('hello')
      proxy.peers.at(-1)!.socket.destroy()
      expect(await text(send())).toBe('hello')
      expect(proxy.peers.length).toBe(3)
    })

    test('cancel closes at once in every phase, and calls nothing', async () => {
      const phases: [string, ConnectProxyOptions, RawOptions['onRequest']][] = [
        ['before the tunnel', { onHead() {} }, () => {}],
        ['while TLS begins', { onHead: peer => void peer.socket.write('HTTP/1.1 200 OK\r\n\r\n') }, () => {}],
        ['before the answer', {}, () => {}],
        ['in the answer', {}, peer => void peer.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhel')],
      ]
      for (const [what, options, onRequest] of phases) {
        const { send, proxy, transport } = await rig({ scheme, proxy: options, onRequest })
        const exchange = send()
        let failed = false
        exchange.response.catch(() => (failed = true))
        await until(() => proxy.peers[0]?.head.endsWith('\r\n\r\n') ?? false, what)
        await Bun.sleep(30)
        exchange.cancel()
        expect(transport.connections()).toEqual(none)
        await until(() => proxy.peers[0]!.closed, `${what}: the proxy sees the end`)
        expect([what, failed]).toEqual([what, false])
      }
      const early = await rig({ scheme })
      early.send().cancel()
      await until(() => early.proxy.peers.every(peer => peer.closed), 'the proxy sees the end')
      expect([early.transport.connections(), early.upstream.peers.length]).toEqual([none, 0])
    })
  })

test('a proxy that does not run, that fails the handshake, or whose certificate is not trusted', async () => {
  const send = async (port: number, scheme: Scheme, url: string, connectMs = 20_000) => {
    const transport = createHttp1Transport()
    const request = { method: 'GET', head: head(url), body: [], timeouts: timeouts({ connectMs }) } as const
    const error = await failure(transport.send({ ...request, proxies: through(port, scheme, authorization) }).response)
    expect([error.kind, transport.connections()]).toEqual(['upstream-unreachable', none])
    return error.message.replaceAll(String(port), 'PORT')
  }
  const silent = createServer(() => {})
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', () => resolve()))
  const { port } = silent.address() as AddressInfo
  const closed = await connectProxy()
  closed.stop()
  const secure = closing(await connectProxy({ tls: localhostAndAddresses }))
  for (const url of ['https://a.invalid/v1', 'http://a.invalid/v1']) {
    for (const scheme of ['http', 'https'] as const)
      expect(await send(closed.port, scheme, url)).toBe(
        'the proxy localhost:PORT cannot be reached: it refused the connection',
      )
    expect(await send(port, 'https', url, 200)).toBe(
      'the proxy localhost:PORT cannot be reached: no connection within 0.2 s',
    )
    expect(await send(secure.port, 'https', url)).toBe(
      'the proxy localhost:PORT cannot be reached: its TLS certificate is self-signed and not trusted',
    )
  }
  expect(secure.peers.map(peer => peer.head).join('')).toBe('')
  silent.close()
})

test('an IPv6 upstream is asked for in brackets', async () => {
  const proxy = closing(await connectProxy({ onHead: peer => void peer.socket.end('HTTP/1.1 403 No\r\n\r\n') }))
  const transport = createHttp1Transport()
  await failure(
    transport.send({
      method: 'GET',
      head: head('https://[fd00::1]/v1'),
      body: [],
      timeouts: timeouts(),
      proxies: through(proxy.port),
    }).response,
  )
  expect(proxy.peers[0]!.head).toStartWith('CONNECT [fd00::1]:443 HTTP/1.1\r\nhost: [fd00::1]:443\r\n')
})

for (const scheme of ['http', 'https'] as const)
  describe(`an http upstream through an ${scheme} proxy`, () => {
    const proxied = async (onRequest: RawOptions['onRequest'], proof?: string) => {
      const proxy = closing(
        await rawUpstream({ onRequest, ...(scheme === 'https' && { tls: { ...localhostAndAddresses } }) }),
      )
      const transport = createHttp1Transport({ ca: localhostAndAddresses.cert })
      cleanups.push(() => transport.close())
      const proxies = through(proxy.port, scheme, proof)
      const send = (url: string, headers: Record<string, string> = {}) =>
        transport.send({
          method: 'POST',
          head: { url, headers },
          body: [Buffer.from('{}')],
          timeouts: timeouts(),
          proxies,
        })
      return { proxy, transport, send }
    }

    test('is asked for by its whole address, on kept connections of its own', async () => {
      const { send, proxy, transport } = await proxied(peer => void peer.socket.write(answer('hello')), authorization)
      for (let i = 0; i < 2; i++)
        expect(await text(send('http://models.example:8000/v1/chat?a=b', { 'Proxy-Authorization': 'not this' }))).toBe(
          'hello',
        )
      expect(await text(send('http://other.example/v1'))).toBe('hello')
      expect(proxy.peers.map(peer => peer.requests)).toEqual([2, 1])
      const [first] = proxy.peers[0]!.received.split('{}')
      expect(first).toBe(
        'POST http://models.example:8000/v1/chat?a=b HTTP/1.1\r\nhost: models.example:8000\r\naccept-encoding: identity\r\n' +
          `proxy-authorization: ${authorization}\r\nuser-agent: modelgate\r\ncontent-length: 2\r\n\r\n`,
      )
      expect(transport.connections()).toEqual({ busy: 0, idle: 2 })
    })

    test('a 407 is the proxy’s; every other status is an answer', async () => {
      const { send, proxy } = await proxied(
        peer => void peer.socket.write('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'),
      )
      const exchange = send('http://models.example/v1')
      const error = await failure(exchange.response)
      expect([exchange.sent, error.kind, error.message]).toEqual([
        false,
        'upstream-unreachable',
        `the proxy localhost:${proxy.port} asks for a user and a password; the gateway has none for it (status 407)`,
      ])
      const other = await proxied(peer => void peer.socket.write('HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n'))
      expect((await other.send('http://models.example/v1').response).status).toBe(502)
    })
  })

test('without a proxy a 407 is an answer', async () => {
  const upstream = closing(
    await rawUpstream({ onRequest: peer => void peer.socket.write('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n') }),
  )
  const transport = createHttp1Transport()
  cleanups.push(() => transport.close())
  expect(
    (await transport.send({ method: 'GET', head: head(upstream.url), body: [], timeouts: timeouts() }).response).status,
  ).toBe(407)
})

test('one and the same head goes the way that each call says', async () => {
  const upstream = closing(await rawUpstream({ onRequest: peer => void peer.socket.write(answer('straight')) }))
  const proxy = closing(await rawUpstream({ onRequest: peer => void peer.socket.write(answer('proxied')) }))
  const transport = createHttp1Transport()
  cleanups.push(() => transport.close())
  const same = head(upstream.url)
  const proxies = through(proxy.port)
  const send = (rules: ProxyRules | undefined, given = same) =>
    text(transport.send({ method: 'GET', head: given, body: [], timeouts: timeouts(), proxies: rules }))
  const said: string[] = []
  for (const given of [same, { ...same }])
    for (const rules of [undefined, proxies, undefined, proxies]) said.push(await send(rules, given))
  expect(said).toEqual([...said.keys()].map(at => (at % 2 ? 'proxied' : 'straight')))
})
