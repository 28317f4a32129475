/** Bodies that lie in files: sent in order, at the pace of the reader, and never more of them than there is. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { timeouts } from '../../../tests/support/upstreams/raw-upstream.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { BodyPiece, Transport } from '../../core/transport.ts'
import { Spool } from '../../pipeline/files/spool.ts'
import { createHttp1Transport } from './client.ts'
import type { PreparedHead } from './request-head.ts'
import { RequestWriter } from './request-writer.ts'
import { until } from '../../../tests/support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-file-'))
const cleanups: (() => void)[] = [() => {}]

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

async function spoolOf(bytes: Uint8Array): Promise<Spool> {
  const spool = await Spool.open(folder)
  cleanups.push(() => spool.close())
  await spool.append(bytes)
  return spool
}

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

const post = (transport: Transport, url: string, body: readonly BodyPiece[]) =>
  transport.send({ method: 'POST', head: { url, headers: {} }, body, timeouts: timeouts() })

const pattern = (length: number) => Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 255))

/** A socket that takes `most` bytes a call and then none until it drains. */
function writer(body: readonly BodyPiece[], most: number): Buffer {
  const out: Buffer[] = []
  const socket = {
    write(bytes: Uint8Array, offset: number, length: number) {
      const taken = Math.min(length, most)
      out.push(Buffer.from(bytes.subarray(offset, offset + taken)))
      return taken
    },
  }
  const prepared = { post: Buffer.from('POST / HTTP/1.1\r\n') } as unknown as PreparedHead
  const request = { method: 'POST', body } as never
  const made = new RequestWriter()
  for (let state = made.start(socket, prepared, request); state !== 'done'; state = made.flush(socket))
    expect(state).toBe('waiting')
  expect(made.done).toBe(true)
  return Buffer.concat(out)
}

test('pieces of files and of memory arrive in order, however little the socket takes', async () => {
  const content = pattern(150_000)
  const file = await spoolOf(content)
  const pieces: BodyPiece[] = [
    Buffer.from('<a>'),
    { file, offset: 10, length: 5 },
    Buffer.from('<b>'),
    { file, offset: 0, length: 0 },
    { file, offset: 1000, length: 149_000 },
    Buffer.from('<c>'),
  ]
  const expected = Buffer.concat([
    Buffer.from('<a>'),
    content.subarray(10, 15),
    Buffer.from('<b>'),
    content.subarray(1000),
    Buffer.from('<c>'),
  ])
  for (const most of [7, 1000, 65_536, 65_537, 1e9]) {
    const sent = writer(pieces, most)
    expect(sent.toString('latin1', 0, 43)).toBe(`POST / HTTP/1.1\r\ncontent-length: ${expected.length}\r\n\r\n`)
    expect(sent.subarray(43).equals(expected)).toBe(true)
  }
  // Small enough to be joined if it were in memory.
  expect(
    writer([{ file, offset: 0, length: 10 }], 1e9)
      .subarray(-10)
      .equals(content.subarray(0, 10)),
  ).toBe(true)
})

test('40 MB from a file arrive at a slow reader, with little memory and no name on the disk', async () => {
  const content = pattern(40 * 1024 * 1024)
  const expected = Bun.hash(content)
  const file = await spoolOf(content)
  expect(readdirSync(folder)).toEqual([])
  const got: Buffer[] = []
  let bytes = 0
  const { transport, url } = await listen(socket => {
    socket.on('data', (data: Buffer) => {
      got.push(data)
      bytes += data.length
      socket.pause()
      setTimeout(() => socket.resume(), 1)
      if (bytes > content.length) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  const response = await post(transport, url, [{ file, offset: 0, length: content.length }]).response
  expect(response.status).toBe(200)
  expect(Bun.hash(Buffer.concat(got).subarray(-content.length))).toBe(expected)
})

test('a file that was closed or is too short fails the call at once, and other calls go on', async () => {
  const { transport, url } = await listen(socket => socket.on('data', () => {}))
  const closed = await spoolOf(pattern(500_000))
  closed.close()
  closed.close()
  const short = await spoolOf(pattern(500_000))
  for (const file of [closed, short]) {
    const error = await post(transport, url, [{ file, offset: 100, length: 500_000 }]).response.then(
      () => undefined,
      (thrown: GatewayError) => thrown,
    )
    expect(error?.kind).toBe('internal')
  }
  await until(() => transport.connections().busy === 0, 'connections are closed')
})

test('a cancelled upload reads nothing any more', async () => {
  let reads = 0
  const file = {
    read(into: Uint8Array) {
      reads++
      return into.length
    },
  }
  const { transport, url } = await listen(socket => socket.pause())
  const exchange = post(transport, url, [{ file, offset: 0, length: 500e6 }])
  exchange.response.catch(() => {})
  await until(() => reads > 0, 'the upload begins')
  exchange.cancel()
  const before = reads
  await Bun.sleep(50)
  expect(reads).toBe(before)
  expect(before).toBeLessThan(1000)
})
