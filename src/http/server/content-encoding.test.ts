/** Compressed bodies, from the wire to their reader. */
import { describe, expect, test } from 'bun:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { GatewayError } from '../../core/errors.ts'
import { readBody } from '../../core/request.ts'
import { BodyMemory } from './body-memory.ts'
import { decodedBody } from './content-encoding.ts'
import { clientLeft, IncomingBody } from './incoming-body.ts'

const megabyte = 1024 * 1024
const source = { wanted() {}, pause() {}, resume() {} }

function arrived(bytes: Uint8Array, encoding: string | null, { memory = new BodyMemory(() => Infinity), by = 7 } = {}) {
  const incoming = new IncomingBody(source, bytes.length, memory)
  const body = decodedBody(incoming, encoding)
  const feed = () => {
    for (let at = 0; at < bytes.length; at += by) incoming.push(bytes.subarray(at, at + by))
    incoming.end()
  }
  return { incoming, body, memory, feed }
}

/** The body, or the kind of error and its text. */
async function outcome(bytes: Uint8Array, encoding: string | null, most = 64 * megabyte, by = 7): Promise<string> {
  const { body, feed } = arrived(bytes, encoding, { by })
  const read = readBody(body, most)
  feed()
  return read.then(
    whole => Buffer.from(whole).toString('utf8'),
    (error: GatewayError) => `${error.kind}: ${error.message}`,
  )
}

const text = JSON.stringify({ model: 'm', input: 'größe '.repeat(500) })

describe('a compressed body', () => {
  test.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['GZIP ', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['gzip, zstd', zstdCompressSync(gzipSync(text))],
    ['GZIP,identity , deflate,', deflateSync(gzipSync(text))],
    ['br, gzip, deflate, zstd', zstdCompressSync(deflateRawSync(gzipSync(brotliCompressSync(text))))],
    ['identity, identity', Buffer.from(text)],
    ['identity', Buffer.from(text)],
    [null, Buffer.from(text)],
  ] as const)('%s: is unpacked, however it is cut', async (encoding, bytes) => {
    for (const by of [1, 13, 100_000]) expect(await outcome(bytes, encoding, undefined, by)).toBe(text)
  })

  test('one that is not known, too many, and one that is not what it is said to be are refused', async () => {
    const packed = gzipSync(text)
    const known = gzipSync(gzipSync(text))
    expect(await outcome(known, 'gzip, compress')).toStartWith("unsupported-media: content-encoding 'compress'")
    expect(await outcome(known, 'compress, gzip')).toStartWith("unsupported-media: content-encoding 'compress'")
    expect(await outcome(packed, 'gzip, gzip')).toStartWith(
      "invalid-request: the body is not what content-encoding 'gzip'",
    )
    for (const encoding of ['compress', 'gzip, gzip, gzip, gzip, gzip', 'constructor'])
      expect(await outcome(packed, encoding)).toStartWith(`unsupported-media: content-encoding '${encoding}'`)
    const damaged = "invalid-request: the body is not what content-encoding 'gzip' says"
    expect(await outcome(Buffer.from(text), 'gzip')).toStartWith(damaged)
    expect(await outcome(packed.subarray(0, packed.length - 9), 'gzip')).toStartWith(damaged)
    const wrongSum = Buffer.from(packed)
    wrongSum[packed.length - 6]! ^= 1
    expect(await outcome(wrongSum, 'gzip')).toStartWith(damaged)
    for (const coding of ['deflate', 'br', 'zstd']) expect(await outcome(packed, coding)).toStartWith('invalid-request')
    const cut = { br: brotliCompressSync(text), zstd: zstdCompressSync(text), deflate: deflateRawSync(text) }
    for (const [coding, bytes] of Object.entries(cut))
      expect(await outcome(bytes.subarray(0, bytes.length - 5), coding)).toStartWith('invalid-request')
  })

  test('a bomb ends at the limit of what is unpacked, and nothing is held beyond it', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * megabyte))
    const memory = new BodyMemory(() => Infinity)
    const { body, feed, incoming } = arrived(bomb, 'gzip', { memory, by: 16 * 1024 })
    const read = readBody(body, megabyte)
    feed()
    await expect(read).rejects.toThrow(`larger than ${megabyte} bytes`)
    expect(memory.heldBytes).toBeLessThanOrEqual(megabyte + bomb.length)
    incoming.release()
    expect(memory.heldBytes).toBe(0)
  })

  test('a bomb between two codings ends where it unpacks to more than what is in it', async () => {
    const empty = Buffer.concat(Array.from({ length: 60 }, () => Buffer.alloc(megabyte)))
    // A gzip member whose name is 60 MB long: nothing comes out of it.
    const named = Buffer.concat([Buffer.from([31, 139, 8, 8, 0, 0, 0, 0, 0, 3]), empty.fill('n'), gzipSync('{}')])
    const refused = "invalid-request: the body is not what content-encoding 'gzip' says (it packs more bytes than come"
    expect(await outcome(zstdCompressSync(named), 'gzip, zstd', megabyte, 1000)).toStartWith(refused)
    const bomb = gzipSync(gzipSync(Buffer.alloc(100 * megabyte)))
    expect(await outcome(bomb, 'gzip, gzip', megabyte, 1000)).toStartWith('too-large')
  })

  test('what is unpacked counts against the memory of all bodies', async () => {
    const memory = new BodyMemory(() => 3 * megabyte)
    expect(memory.take(2 * megabyte, 0, '')).toBeUndefined()
    const { body, feed, incoming } = arrived(gzipSync(Buffer.alloc(2 * megabyte)), 'gzip', { memory, by: 4096 })
    const read = readBody(body, 32 * megabyte)
    feed()
    await expect(read).rejects.toMatchObject({ kind: 'overloaded' })
    incoming.release()
    expect(memory.heldBytes).toBe(2 * megabyte)
  })

  test('piece by piece, at the pace of its reader', async () => {
    const { body, feed } = arrived(gzipSync(Buffer.alloc(5 * megabyte, 'x')), 'gzip', { by: 4096 })
    feed()
    let bytes = 0
    for (let piece = await body.next(); piece; piece = await body.next()) bytes += piece.length
    expect(bytes).toBe(5 * megabyte)
  })

  test('a client that leaves in the middle ends it', async () => {
    const packed = gzipSync(text)
    const incoming = new IncomingBody(source, packed.length, new BodyMemory(() => Infinity))
    const read = readBody(decodedBody(incoming, 'gzip'), megabyte)
    incoming.push(packed.subarray(0, 20))
    incoming.fail(clientLeft())
    await expect(read).rejects.toMatchObject({ kind: 'client-closed' })
  })
})
