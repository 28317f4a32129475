import { afterEach, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { timeouts } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Transport, UpstreamExchange } from '../../core/transport.ts'
import { createHttp1Transport } from './client.ts'
import { until } from '../../../tests/support/until.ts'

const cleanups: (() => void)[] = []

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function listen(accept: (socket: Socket) => void): Promise<{ transport: Transport; url: string }> {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    accept(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  const transport = createHttp1Transport()
  cleanups.push(() => {
    transport.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { transport, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

function post(transport: Transport, url: string, body: readonly Uint8Array[]): UpstreamExchange {
  return transport.send({ method: 'POST', head: { url, headers: {} }, body, timeouts: timeouts() })
}

/** Writes 100 MB as fast as the reader takes it; `written` counts what the system took. */
function flood(socket: Socket, state: { written: number }): void {
  const piece = Buffer.alloc(64 * 1024, 'x')
  const total = 100 * 1024 * 1024
  socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`)
  const more = (): void => {
    while (state.written < total) {
      state.written += piece.length
      if (!socket.write(piece)) return void socket.once('drain', more)
    }
  }
  more()
}

/** Waits until the sockets are full; that is after a bounded number of bytes. */
async function untilStill(state: { readonly written: number }): Promise<void> {
  for (let before = -1; state.written > before; await Bun.sleep(200)) {
    before = state.written
    expect(before).toBeLessThan(20e6)
  }
}

test('a paused reader stops an upstream of 100 MB, here and on the wire; resume gets the rest', async () => {
  const state = { written: 0 }
  const { transport, url } = await listen(socket => socket.once('data', () => flood(socket, state)))
  const { body } = await post(transport, url, []).response
  let received = 0
  let ended = false
  let problem: GatewayError | undefined
  body.pipe({
    data(bytes) {
      received += bytes.length
      if (received === bytes.length) body.pause()
    },
    end: () => (ended = true),
    fail: error => (problem = error),
  })
  await until(() => received > 0, 'the first piece')
  const atPause = received
  await untilStill(state)
  const atRestMb = process.memoryUsage().rss / 1e6
  const { written } = state
  await Bun.sleep(300)
  expect(received).toBe(atPause)
  expect(state.written).toBe(written)
  expect(process.memoryUsage().rss / 1e6 - atRestMb).toBeLessThan(8)
  body.resume()
  await until(() => ended || problem !== undefined, 'the end')
  expect(problem).toBeUndefined()
  expect(received).toBe(100 * 1024 * 1024)
})

test('an unread body stops the upstream after a bounded number of bytes', async () => {
  const state = { written: 0 }
  const { transport, url } = await listen(socket => socket.once('data', () => flood(socket, state)))
  const { body } = await post(transport, url, []).response
  await untilStill(state)
  expect((await body.bytes(200e6)).length).toBe(100 * 1024 * 1024)
})

test('two million chunks of one byte cost little more memory than their bytes', async () => {
  const chunks = Buffer.from('1\r\nx\r\n'.repeat(20_000))
  let finish: (() => void) | undefined
  const { transport, url } = await listen(socket => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      let left = 100
      const more = (): void => {
        while (left-- > 0) if (!socket.write(chunks)) return void socket.once('drain', more)
        finish = () => socket.write('0\r\n\r\n')
      }
      more()
    })
  })
  Bun.gc(true)
  const beforeBytes = process.memoryUsage().heapUsed
  const { body } = await post(transport, url, []).response
  const read = body.bytes(16e6)
  await until(() => finish !== undefined, 'the last chunk')
  await Bun.sleep(100)
  Bun.gc(true)
  expect(process.memoryUsage().heapUsed - beforeBytes).toBeLessThan(20e6)
  finish!()
  const bytes = await read
  expect(bytes.length).toBe(2_000_000)
  expect(Buffer.from(bytes).every(byte => byte === 120)).toBe(true)
})

test('a request of 10 MiB in uneven pieces arrives byte for byte at a slow reader', async () => {
  const lengths = [1, 70_000, 0, 5 * 1024 * 1024, 3, 5 * 1024 * 1024]
  const pieces = lengths.map((length, i) => Buffer.alloc(length, 97 + i))
  const whole = Buffer.concat(pieces)
  const got: Buffer[] = []
  let bytes = 0
  const { transport, url } = await listen(socket => {
    socket.on('data', (data: Buffer) => {
      got.push(data)
      bytes += data.length
      socket.pause()
      setTimeout(() => socket.resume(), 1)
      const headBytes = Buffer.concat(got.slice(0, 1)).indexOf('\r\n\r\n') + 4
      if (bytes === headBytes + whole.length) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  const response = await post(transport, url, pieces).response
  expect(Buffer.from(await response.body.bytes(10)).toString()).toBe('ok')
  const all = Buffer.concat(got)
  const head = all.subarray(0, all.indexOf('\r\n\r\n') + 4)
  expect(head.toString()).toContain(`content-length: ${whole.length}\r\n`)
  expect(Buffer.compare(all.subarray(head.length), whole)).toBe(0)
  expect(transport.connections()).toEqual({ busy: 0, idle: 1 })
})

test('an answer that comes before the request is out is delivered; the connection is not kept', async () => {
  for (const closes of [false, true]) {
    const { transport, url } = await listen(socket => {
      socket.once('data', () => {
        socket.pause()
        const said = 'HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig'
        if (closes) socket.end(said)
        else socket.write(said)
      })
    })
    const response = await post(transport, url, [Buffer.alloc(10 * 1024 * 1024)]).response
    expect(response.status).toBe(413)
    expect(Buffer.from(await response.body.bytes(10)).toString()).toBe('big')
    expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
  }
})

test('an upstream that resets in the middle of an upload fails the call, and the process lives', async () => {
  const { transport, url } = await listen(socket => socket.once('data', () => socket.resetAndDestroy()))
  for (let i = 0; i < 5; i++) {
    const error = await post(transport, url, [Buffer.alloc(10 * 1024 * 1024)]).response.then(
      () => undefined,
      (thrown: GatewayError) => thrown,
    )
    expect(error?.kind).toBe('upstream-closed')
  }
  expect(transport.connections()).toEqual({ busy: 0, idle: 0 })
})

test('an upstream that reads slowly does not run into the first-byte limit while it reads', async () => {
  // Far more than the kernel's buffers hold, at a rate that takes twice the limit.
  const pieces: Uint8Array[] = Array.from({ length: 10 }, () => new Uint8Array(4 * 1024 * 1024))
  const total = pieces.length * pieces[0]!.length
  let bytes = 0
  const { transport, url } = await listen(socket => {
    socket.on('data', data => {
      bytes += data.length
      socket.pause()
      setTimeout(() => socket.resume(), data.length / 40_000)
      if (bytes > total) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  const exchange = transport.send({
    method: 'POST',
    head: { url, headers: {} },
    body: pieces,
    timeouts: timeouts({ firstByteMs: 500 }),
  })
  const startMs = performance.now()
  expect((await exchange.response).status).toBe(200)
  expect(performance.now() - startMs).toBeGreaterThan(600)
})
