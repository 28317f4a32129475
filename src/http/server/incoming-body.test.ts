import { expect, test } from 'bun:test'
import { GatewayError } from '../../core/errors.ts'
import { readBody } from '../../core/request.ts'
import { BodyMemory } from './body-memory.ts'
import { IncomingBody } from './incoming-body.ts'

class Source {
  wants = 0
  pauses = 0
  resumes = 0
  wanted(): void {
    this.wants++
  }
  pause(): void {
    this.pauses++
  }
  resume(): void {
    this.resumes++
  }
}

function bench(length = -1): { source: Source; body: IncomingBody } {
  const source = new Source()
  return { source, body: new IncomingBody(source, length, new BodyMemory(() => Infinity)) }
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
const gone = new GatewayError('client-closed', 'gone')

async function kindOf(promise: Promise<unknown>): Promise<string> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof GatewayError)) throw new Error('no GatewayError')
  return thrown.kind
}

test('a body that is there is handed over at once, without a copy and without asking', () => {
  const { source, body } = bench(3)
  const piece = bytes('abc')
  body.push(piece)
  body.end()
  let got: Uint8Array | undefined
  body.read(10, { whole: whole => (got = whole), failed: () => {} })
  expect(got).toBe(piece)
  expect(source.wants).toBe(0)
})

test('an empty body is empty, at once', async () => {
  const { source, body } = bench(0)
  expect(body.ended).toBe(true)
  expect((await readBody(body, 0)).length).toBe(0)
  expect(await body.next()).toBeUndefined()
  expect(source.wants).toBe(0)
})

test('pieces before and after the question are joined in order', async () => {
  const { source, body } = bench()
  body.push(bytes('ab'))
  const whole = readBody(body, 10)
  expect(source.wants).toBe(1)
  expect(body.awaited).toBe(true)
  body.push(bytes('cd'))
  body.push(bytes('e'))
  body.end()
  expect(Buffer.from(await whole).toString()).toBe('abcde')
  expect(body.awaited).toBe(false)
})

test('too large: by what is announced, by what is there, by what comes', async () => {
  const announced = bench(11).body
  expect(await kindOf(readBody(announced, 10))).toBe('too-large')
  const there = bench().body
  there.push(bytes('x'.repeat(11)))
  expect(await kindOf(readBody(there, 10))).toBe('too-large')
  const coming = bench().body
  const read = readBody(coming, 10)
  coming.push(bytes('x'.repeat(10)))
  coming.push(bytes('x'))
  expect(await kindOf(read)).toBe('too-large')
  const exact = bench(10).body
  const all = readBody(exact, 10)
  exact.push(bytes('x'.repeat(10)))
  exact.end()
  expect((await all).length).toBe(10)
})

test('after a failure nothing is kept, and everyone hears of it', async () => {
  const { source, body } = bench()
  const read = readBody(body, 10)
  body.push(bytes('x'.repeat(11)))
  expect(await kindOf(read)).toBe('too-large')
  for (let i = 0; i < 100; i++) body.push(Buffer.alloc(64 * 1024))
  body.end()
  expect(source.pauses).toBe(0)
  expect(await kindOf(body.next())).toBe('too-large')
  expect(await kindOf(readBody(body, 1e9))).toBe('too-large')
})

test('a client that leaves fails the reader of its body, in both ways of reading, and once', async () => {
  const whole = bench().body
  let failures = 0
  whole.read(10, { whole: () => {}, failed: () => failures++ })
  whole.fail(gone)
  whole.fail(gone)
  expect(failures).toBe(1)
  const piecewise = bench().body
  const next = piecewise.next()
  piecewise.fail(gone)
  expect(await kindOf(next)).toBe('client-closed')
  expect(await kindOf(piecewise.next())).toBe('client-closed')
})

test('piece by piece: what is kept first, then what comes, then the end for ever', async () => {
  const { body } = bench()
  body.push(bytes('a'))
  body.push(bytes('b'))
  expect(String(await body.next())).toBe('a')
  expect(String(await body.next())).toBe('b')
  const third = body.next()
  body.push(bytes('c'))
  expect(String(await third)).toBe('c')
  const last = body.next()
  body.end()
  expect(await last).toBeUndefined()
  expect(await body.next()).toBeUndefined()
})

test('an unread body: the client has to wait until it is read', async () => {
  const { source, body } = bench()
  for (let i = 0; i < 4; i++) body.push(Buffer.alloc(64 * 1024))
  expect(source.pauses).toBe(0)
  body.push(Buffer.alloc(1))
  body.push(Buffer.alloc(1))
  expect(source.pauses).toBe(1)
  expect(source.resumes).toBe(0)
  await body.next()
  expect(source.resumes).toBe(1)
  const other = bench()
  for (let i = 0; i < 5; i++) other.body.push(Buffer.alloc(64 * 1024))
  void readBody(other.body, 1e9).catch(() => {})
  expect(other.source).toMatchObject({ pauses: 1, resumes: 1 })
})

test('any pieces, read in either way, give the same bytes', async () => {
  let seed = 7
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below
  for (let round = 0; round < 60; round++) {
    const { body } = bench()
    const given: Buffer[] = []
    const got: Uint8Array[] = []
    const pieceBytesMax = [3, 300, 5000, 60_000][round % 4]!
    const pieces = pieceBytesMax < 1000 ? 3000 : 60
    let whole: Promise<Uint8Array> | undefined
    for (let i = 0; i < pieces; i++) {
      const piece = Buffer.alloc(1 + random(pieceBytesMax), random(256))
      given.push(piece)
      // What was handed out must not change when more comes.
      body.push(Buffer.from(piece))
      if (round % 2 === 0 && random(20) === 0) got.push((await body.next())!)
      if (round % 2 === 1 && i === pieces / 2) whole = readBody(body, 1e8)
    }
    body.end()
    if (whole) got.push(await whole)
    else for (let piece = await body.next(); piece; piece = await body.next()) got.push(piece)
    if (!Buffer.concat(got).equals(Buffer.concat(given))) throw new Error(`round ${round}: other bytes`)
  }
})

test('a million chunks of one byte cost little more memory than their bytes, read or not yet', async () => {
  const wire = Buffer.alloc(64 * 1024, 'x')
  Bun.gc(true)
  const before = process.memoryUsage().heapUsed
  const { body } = bench()
  for (let i = 0; i < 250_000; i++) body.push(wire.subarray(i & 0xffff, (i & 0xffff) + 1))
  const read = readBody(body, 1e7)
  for (let i = 0; i < 750_000; i++) body.push(wire.subarray(i & 0xffff, (i & 0xffff) + 1))
  Bun.gc(true)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10e6)
  body.end()
  expect((await read).length).toBe(1_000_000)
})

test('a large body is collected in one buffer; one that lies about its length costs what it sent', async () => {
  const { body } = bench(50_000_000)
  const read = readBody(body, 50_000_000)
  const piece = () => Buffer.alloc(100_000, 'y')
  for (let i = 0; i < 500; i++) body.push(piece())
  body.end()
  const whole = await read
  expect(whole.length).toBe(50_000_000)
  expect(Buffer.from(whole).every(byte => byte === 121)).toBe(true)
  const before = process.memoryUsage().arrayBuffers
  const lying = bench(50_000_000).body
  const cut = readBody(lying, 50_000_000)
  lying.push(piece())
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
  lying.fail(gone)
  expect(await kindOf(cut)).toBe('client-closed')
})

test('large bodies are handed over one in a tick, and not to a client that left meanwhile', async () => {
  const large = Buffer.alloc(300 * 1024, 'x')
  const seen: string[] = []
  const nextTick = () => new Promise(resolve => setImmediate(resolve))
  await nextTick()
  const bodies = ['first', 'second', 'third', 'small'].map(name => {
    const { body } = bench()
    const failed = (error: GatewayError) => seen.push(`${name}: ${error.kind}`)
    body.read(1024 * 1024, { whole: whole => seen.push(`${name}: ${whole.length}`), failed })
    return body
  })
  for (const [index, body] of bodies.entries()) {
    body.push(index === 3 ? bytes('abc') : large)
    body.end()
    expect([body.ended, body.awaited]).toEqual([true, false])
  }
  expect(seen).toEqual([`first: ${large.length}`, 'small: 3'])
  bodies[1]!.fail(gone)
  await nextTick()
  await nextTick()
  expect(seen.slice(2)).toEqual(['second: client-closed', `third: ${large.length}`])
})
