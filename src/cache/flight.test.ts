/** One answer for several calls: who gets it from where, and when it is too late. */
import { describe, expect, test } from 'bun:test'
import type { AnswerStream, Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { ChatEvent } from '../core/hub/chat.ts'
import { Flight } from './flight.ts'

const text = (words: string): ChatEvent => ({ type: 'text', choice: 0, text: words })
const content = { kind: 'chat' as const, events: [text('whole')] }

function follower({ stream = false, kind = 'chat', writes = true, fails = false } = {}) {
  let leave = (): void => {}
  const writer = {
    write: (event: ChatEvent) =>
      event.type === 'start' ? `<${event.id} ${event.model}>` : (event as { text: string }).text,
    end: () => '.',
    fail: fails ? () => 'failed' : undefined,
  }
  const call = {
    id: 'mine',
    model: 'm',
    stream,
    client: { onLeft: (then: () => void) => void (leave = then) },
    format: { streaming: 'sse', errorEvent: () => 'error', ...(writes && { writer: () => writer }) },
    input: () => ({ kind, request: {} }),
    reply: (events: unknown) => ({ status: 200, contentType: 'json', body: JSON.stringify(events) }),
    cacheHit: '',
    savedNanoUsd: null,
  }
  return { call: call as unknown as Call, leave: () => leave() }
}

function clientOf(reply: Reply | undefined, full = false) {
  const told: string[] = []
  const sink = {
    full,
    write: (piece: Uint8Array | string) => void told.push(String(piece)),
    end: () => void told.push('end'),
    abort: () => void told.push('cut'),
  }
  const stream = reply!.body as AnswerStream
  stream.pipe(sink)
  return { told, sink, stream }
}

describe('calls that wait for the whole answer', () => {
  test('get it when it is complete, with what it has cost', async () => {
    const flight = new Flight(1000)
    const { call } = follower()
    const waiting = flight.follow(call)
    expect([flight.followed, flight.followerCount, flight.isClosed]).toEqual([true, 1, false])
    flight.complete(content, { costNanoUsd: 7n })
    expect((await waiting)!.body).toBe(JSON.stringify(content.events))
    expect([call.cacheHit, call.savedNanoUsd]).toEqual(['shared', 7n])
    expect([flight.followed, flight.isClosed, flight.isComplete]).toEqual([false, true, true])
  })

  test('go themselves when it fails, or cannot be given to them', async () => {
    const failing = new Flight(1000)
    const waiting = failing.follow(follower().call)
    failing.fail()
    failing.complete(content, { costNanoUsd: 1n })
    expect([await waiting, failing.isClosed, failing.isComplete]).toEqual([undefined, true, false])
    const flight = new Flight(1000)
    const { call } = follower()
    call.reply = () => {
      throw new Error('no')
    }
    const other = flight.follow(call)
    flight.complete(content, { costNanoUsd: 1n })
    expect([await other, call.cacheHit]).toEqual([undefined, ''])
  })

  test('leave the flight when their client leaves; the last one is told, once', () => {
    const flight = new Flight(1000)
    let deserted = 0
    flight.onDeserted = () => void deserted++
    const [one, two] = [follower(), follower()]
    void flight.follow(one.call)
    void flight.follow(two.call)
    one.leave()
    expect([deserted, flight.followerCount]).toEqual([0, 1])
    two.leave()
    two.leave()
    expect([deserted, flight.followed]).toEqual([1, false])
  })
})

describe('calls that stream', () => {
  test('get all events from the beginning under their own id, those that come later, and the end', async () => {
    const flight = new Flight(1000)
    const { call } = follower({ stream: true })
    const early = flight.follow(call)
    flight.begin()
    const { told } = clientOf(await early)
    flight.add([{ type: 'start', id: 'theirs', model: 'up' }, text('a')])
    const late = clientOf(await flight.follow(follower({ stream: true }).call))
    expect([told, late.told]).toEqual([
      ['<mine m>', 'a'],
      ['<mine m>', 'a'],
    ])
    flight.add([text(''), text('b')])
    flight.complete(content, { costNanoUsd: 3n })
    expect(told).toEqual(['<mine m>', 'a', 'b', '.', 'end'])
    expect([call.cacheHit, call.savedNanoUsd, flight.followed]).toEqual(['shared', 3n, false])
  })

  test('wait for a client that is full', async () => {
    const flight = new Flight(1000)
    flight.begin()
    flight.add([text('a')])
    const { told, sink, stream } = clientOf(await flight.follow(follower({ stream: true }).call), true)
    flight.complete(content, { costNanoUsd: null })
    expect(told).toEqual([])
    sink.full = false
    stream.resume()
    expect(told).toEqual(['a', '.', 'end'])
    stream.resume()
    expect(told).toHaveLength(3)
  })

  test('are cut with an error in their dialect when the answer fails, also before they are read', async () => {
    const flight = new Flight(1000)
    flight.begin()
    const begun = clientOf(await flight.follow(follower({ stream: true }).call))
    const unread = await flight.follow(follower({ stream: true, fails: true }).call)
    flight.add([text('a')])
    flight.fail()
    flight.fail()
    expect(begun.told).toEqual(['a', 'error', 'cut'])
    expect(clientOf(unread).told).toEqual(['failed', 'cut'])
    expect(flight.followed).toBe(false)
  })

  test('end for the flight when their client leaves', async () => {
    const flight = new Flight(1000)
    let deserted = 0
    flight.onDeserted = () => void deserted++
    flight.begin()
    const { stream, told } = clientOf(await flight.follow(follower({ stream: true }).call))
    stream.cancel()
    flight.add([text('a')])
    expect([deserted, told, flight.followed]).toEqual([1, [], false])
  })

  test('wait for the whole answer where they cannot be given a stream', async () => {
    for (const given of [{ stream: false }, { stream: true, kind: 'speech' }, { stream: true, writes: false }]) {
      const flight = new Flight(1000)
      const waiting = flight.follow(follower(given).call)
      flight.begin()
      flight.complete(content, { costNanoUsd: null })
      expect((await waiting)!.contentType).toBe('json')
    }
  })
})

describe('what is held for those who follow', () => {
  /** 64 bytes and two a letter. */
  const piece = text('x'.repeat(18))

  test('is all of it up to the bound, and no event before the beginning', () => {
    const flight = new Flight(200)
    flight.add([piece])
    expect(flight.events).toEqual([])
    flight.begin()
    flight.add([piece, piece])
    expect([flight.events!.length, flight.isClosed]).toEqual([2, false])
    flight.add([piece])
    expect([flight.events, flight.isClosed]).toEqual([undefined, true])
  })

  test('beyond the bound is dropped once all have read it; who waits goes itself', async () => {
    const flight = new Flight(200)
    flight.begin()
    const reading = clientOf(await flight.follow(follower({ stream: true }).call))
    const waiting = flight.follow(follower().call)
    flight.add([piece, piece, piece])
    expect(await waiting).toBeUndefined()
    flight.add([piece])
    flight.complete(content, { costNanoUsd: null })
    expect(reading.told).toEqual([...Array.from({ length: 4 }, () => 'x'.repeat(18)), '.', 'end'])
  })

  test('is cut for who is too far behind the others', async () => {
    const flight = new Flight(200)
    flight.begin()
    const slow = clientOf(await flight.follow(follower({ stream: true }).call), true)
    const reading = clientOf(await flight.follow(follower({ stream: true }).call))
    flight.add([piece, piece])
    expect(slow.told).toEqual([])
    flight.add([piece])
    expect(slow.told).toEqual(['error', 'cut'])
    expect(flight.followerCount).toBe(1)
    flight.add([text('z')])
    flight.complete(content, { costNanoUsd: null })
    expect(reading.told.slice(-3)).toEqual(['z', '.', 'end'])
  })
})
