import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { localhostOnly } from '../../../tests/support/network/certificates.ts'
import type { RawPeer } from '../../../tests/support/upstreams/raw-upstream.ts'
import { answer, rawUpstream, timeouts } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { GatewayError } from '../../core/errors.ts'
import { createHttp1Transport } from './client.ts'
import type { Http1Options } from './client.ts'
import { until } from '../../../tests/support/until.ts'

const { key, cert } = localhostOnly

const folder = mkdtempSync(join(tmpdir(), 'modelgate-tls-'))
const caFile = join(folder, 'ca.pem')
writeFileSync(caFile, cert)

const large = Buffer.alloc(3 * 1024 * 1024, 'abcdefgh')
const upstream = await rawUpstream({
  tls: { cert, key, ALPNProtocols: ['h2', 'http/1.1'] },
  onRequest(peer, request) {
    if (request.includes('/cut')) return peer.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello')
    peer.socket.write(answer(request.includes('/large') ? large.toString() : 'secure'))
  },
})

afterAll(() => {
  upstream.stop()
  rmSync(folder, { recursive: true })
})

interface Call {
  path?: string
  host?: string
  body?: Buffer
}

async function call(options: Http1Options, given: Call = {}): Promise<Uint8Array> {
  const { path = '', host = 'localhost', body = Buffer.from('{}') } = given
  const transport = createHttp1Transport(options)
  try {
    const head = { url: `https://${host}:${upstream.port}/${path}`, headers: {} }
    const { response } = transport.send({ method: 'POST', head, body: [body], timeouts: timeouts() })
    return await (await response).body.bytes(1e8)
  } finally {
    transport.close()
  }
}

async function failure(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(
    () => undefined,
    (thrown: GatewayError) => thrown,
  )
  if (!error) throw new Error('it did not fail')
  return error
}

test('a self-signed certificate is refused, and not a byte of the request is sent', async () => {
  const before = upstream.peers.length
  const error = await failure(call({}))
  expect(error.kind).toBe('upstream-unreachable')
  expect(error.message).toContain('self-signed')
  await Bun.sleep(20)
  expect(
    upstream.peers
      .slice(before)
      .map(peer => peer.received)
      .join(''),
  ).toBe('')
})

test('the same certificate is trusted when it is given as ca', async () => {
  expect(Buffer.from(await call({ ca: cert })).toString()).toBe('secure')
})

test('a trusted certificate for another name is refused', async () => {
  const error = await failure(call({ ca: cert }, { host: '127.0.0.1' }))
  expect(error.kind).toBe('upstream-unreachable')
  expect(error.message).toContain('another name')
})

test('the upstream gets the name, and is offered HTTP/1.1 only', async () => {
  await call({ ca: cert })
  const socket = last(upstream.peers).socket as TLSSocket & { servername?: string }
  expect(socket.alpnProtocol).toBe('http/1.1')
  expect(socket.servername).toBe('localhost')
})

test('large bodies go both ways over TLS', async () => {
  const got = await call({ ca: cert }, { path: 'large', body: large })
  expect(Buffer.compare(got, large)).toBe(0)
  expect(last(upstream.peers).received.endsWith(large.subarray(-100).toString())).toBe(true)
})

test('a reader that pauses and resumes at every piece gets every byte over TLS', async () => {
  const transport = createHttp1Transport({ ca: cert })
  const head = { url: `https://localhost:${upstream.port}/large`, headers: {} }
  const { body } = await transport.send({ method: 'POST', head, body: [], timeouts: timeouts() }).response
  const pieces: Uint8Array[] = []
  let ended = 0
  let problem: GatewayError | undefined
  body.pipe({
    data(bytes) {
      pieces.push(bytes)
      body.pause()
      if (pieces.length % 2 === 0) body.resume()
      else setTimeout(() => body.resume(), 0)
    },
    end: () => ended++,
    fail: error => (problem = error),
  })
  await until(() => ended > 0 || problem !== undefined, 'the end')
  expect(problem).toBeUndefined()
  expect(Buffer.compare(Buffer.concat(pieces), large)).toBe(0)
  transport.close()
})

test('a cut answer over TLS is upstream-closed', async () => {
  expect((await failure(call({ ca: cert }, { path: 'cut' }))).kind).toBe('upstream-closed')
})

test('a server that does not speak TLS, or never finishes the handshake, is unreachable', async () => {
  const accepted: { destroyed: boolean; destroy(): void }[] = []
  const plain = createServer(socket => {
    accepted.push(socket)
    socket.on('error', () => {})
    if (accepted.length === 1) socket.on('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    else socket.resume()
  })
  await new Promise<void>(resolve => plain.listen(0, '127.0.0.1', () => resolve()))
  const head = { url: `https://127.0.0.1:${(plain.address() as AddressInfo).port}/`, headers: {} }
  const transport = createHttp1Transport()
  const request = { method: 'GET', head, body: [], timeouts: timeouts({ connectMs: 200 }) } as const
  const send = () => failure(transport.send(request).response)
  expect((await send()).message).toContain('TLS handshake failed')
  const slow = await send()
  expect(slow.kind).toBe('upstream-unreachable')
  expect(slow.message).toContain('no connection within 0.2 s')
  await until(() => accepted[1]!.destroyed, 'the socket of the timed-out handshake is closed')
  plain.close()
})

test('NODE_EXTRA_CA_CERTS adds a root to the platform’s', async () => {
  const program = `
    import { createHttp1Transport } from ${JSON.stringify(join(import.meta.dir, 'client.ts'))}
    const head = { url: 'https://localhost:${upstream.port}/', headers: {} }
    const timeouts = { connectMs: 2000, firstByteMs: 2000, idleMs: 2000, totalMs: 0 }
    const { response } = createHttp1Transport().send({ method: 'GET', head, body: [], timeouts })
    process.stdout.write(Buffer.from(await (await response).body.bytes(100)).toString())
    process.exit(0)`
  const child = Bun.spawn([process.execPath, '-e', program], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  expect(await new Response(child.stdout).text()).toBe('secure')
})

function last(peers: readonly RawPeer[]): RawPeer {
  return peers[peers.length - 1]!
}
