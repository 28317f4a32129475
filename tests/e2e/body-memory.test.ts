/** What clients with a key can make a real gateway hold of their bodies, as its process says. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { memoryMb } from '../bench/machine.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import type { GatewayProcess } from '../support/gateway-process.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(90_000)

/** Of bodies that are held; the process may double it while it collects one. */
const bodyMemoryMb = 64
const megabyte = 1024 * 1024
const piece = Buffer.alloc(megabyte, ' ')

let gateway: GatewayProcess

beforeAll(async () => {
  gateway = await startGatewayProcess(`general_settings: { max_body_memory_mb: ${bodyMemoryMb} }\n`)
})
afterAll(() => gateway?.stop())

const peakMb = (): number => memoryMb([gateway.pid], 'peak')

/** A client that sends what it may, does not heed answers, and never ends its body. */
class Uploader {
  readonly socket: Socket
  heard = ''
  closed = false

  constructor(head: string, megabytes: number, frame: (bytes: Buffer) => Buffer = bytes => bytes) {
    this.socket = connect({ port: gateway.port, host: '127.0.0.1' })
    this.socket.on('data', bytes => (this.heard += bytes.toString('latin1')))
    this.socket.on('error', () => {})
    this.socket.on('close', () => (this.closed = true))
    this.socket.write(head)
    const framed = frame(piece)
    let sent = 0
    const more = (): void => {
      while (sent < megabytes && !this.closed) {
        sent++
        if (!this.socket.write(framed)) return void this.socket.once('drain', more)
      }
    }
    more()
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.heard)?.[1] ?? 0)
  }
}

const head = (path: string, key: string, framing: string, type = 'application/json'): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\n${framing}\r\n\r\n`

async function end(uploaders: readonly Uploader[]): Promise<void> {
  for (const { socket } of uploaders) socket.destroy()
  await until(() => uploaders.every(({ closed }) => closed), 'the end of the uploads')
}

const call = (key: string, spaces = 0): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: `{"model":"local/simulated-chat","messages":[{"role":"user","content":"hi"}]${' '.repeat(spaces)}}`,
  })

test('thirty bodies of 30 MB by one key with one request a minute and one at once: one is read, the others are not', async () => {
  const key = await gateway.key({ rpm_limit: 1, max_parallel_requests: 1 })
  const before = peakMb()
  const uploaders = Array.from(
    { length: 30 },
    () => new Uploader(head('/v1/chat/completions', key, `content-length: ${30 * megabyte}`), 29),
  )
  await until(() => uploaders.filter(({ status }) => status === 429).length === 29, 'the refusals')
  expect(uploaders.filter(({ status }) => status === 0).length).toBe(1)
  expect(peakMb() - before).toBeLessThan(150)
  await end(uploaders)
})

test('bodies for every kind of path, announced or not, share one amount of memory; what does not fit gets 503', async () => {
  const key = await gateway.key()
  const before = peakMb()
  const form = 'multipart/form-data; boundary=B'
  const part = '--B\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
  const announced = `content-length: ${30 * megabyte}`
  const chunked = 'transfer-encoding: chunked'
  const chunk = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  const uploaders = ['/v1/chat/completions', '/utils/token_counter', '/v1/assistants', '/v1/threads'].flatMap(path => [
    new Uploader(head(path, key, announced), 20),
    new Uploader(head(path, key, chunked), 20, chunk),
    new Uploader(head(path, key, chunked), 20, chunk),
  ])
  uploaders.push(
    new Uploader(head('/v1/files', key, announced, form) + part, 20),
    new Uploader(`${head('/v1/files', key, chunked, form)}${part.length.toString(16)}\r\n${part}\r\n`, 20, chunk),
  )
  await until(() => uploaders.filter(({ status }) => status === 503).length >= 5, 'the first refusals')
  // Bodies of administration take what is left, and are refused as others when nothing is.
  for (let refused = 0; refused < 20 && uploaders.length < 300; ) {
    const small = new Uploader(head('/key/generate', gateway.masterKey, `content-length: ${megabyte - 1}`), 0)
    uploaders.push(small)
    await Bun.sleep(20)
    if (small.status === 503) refused++
  }
  for (const { status, heard } of uploaders)
    if (status !== 0) {
      expect(heard).toStartWith('HTTP/1.1 503')
      expect(heard).toContain('retry-after: 1')
      expect(heard).toMatch(/the bodies of the requests under way (take all|of this key take its share) of/)
    }
  expect((await call(key, 2 * megabyte)).status).toBe(503)
  // The bodies, the buffers that grow with them, and what the collector has not seen yet.
  expect(peakMb() - before).toBeLessThan(3 * bodyMemoryMb)
  await end(uploaders)
  const after = await call(key, 2 * megabyte)
  expect([after.status, await after.text()]).toEqual([200, expect.stringContaining('chat.completion')])
})
