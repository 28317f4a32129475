import { expect, test } from 'bun:test'
import type { AnswerSink, AnswerStream } from '../core/answer.ts'
import { TappedStream } from './tapped-stream.ts'

/** A source that is driven by hand, a client that may be full, and what each of them was told. */
function rig({ isFollowed = false } = {}) {
  const told: string[] = []
  let into: AnswerSink | undefined
  const source: AnswerStream = {
    pipe: sink => void ((into = sink), told.push('read')),
    resume: () => void told.push('resumed'),
    cancel: () => void told.push('cancelled'),
  }
  const tap = {
    isFollowed,
    piece: (piece: Uint8Array | string) => void told.push(`tap ${piece.length}`),
    ended: (how: string) => void told.push(how),
  }
  const client = {
    full: false,
    write: (piece: Uint8Array | string) => void told.push(`client ${piece.length}`),
    end: () => void told.push('client ended'),
    abort: () => void told.push('client cut'),
  }
  const take = () => told.splice(0)
  return { stream: new TappedStream(source, tap), tap, client, take, source: () => into! }
}

test('each piece goes to the tap and to the client, and so does the end', () => {
  const { stream, client, take, source } = rig()
  stream.pipe(client)
  source().write('abc')
  source().end()
  expect(take()).toEqual(['read', 'tap 3', 'client 3', 'complete', 'client ended'])
})

test('a source that is cut cuts the client, and is no whole answer', () => {
  const { stream, client, take, source } = rig()
  stream.pipe(client)
  source().abort()
  expect(take()).toEqual(['read', 'cut', 'client cut'])
})

test('a full client holds the source while nobody follows, and is written to all the same', () => {
  const { stream, client, tap, take, source } = rig()
  stream.pipe(client)
  expect(source().full).toBe(false)
  client.full = true
  expect(source().full).toBe(true)
  source().write('abc')
  expect(take()).toEqual(['read', 'tap 3', 'client 3'])
  tap.isFollowed = true
  expect(source().full).toBe(false)
})

test('while others follow, a full client gets what waited for it in order, and its end last', () => {
  const { stream, client, take, source } = rig({ isFollowed: true })
  stream.pipe(client)
  client.full = true
  source().write('a')
  client.full = false
  source().write('bb')
  client.full = true
  source().end()
  expect(take()).toEqual(['read', 'tap 1', 'tap 2', 'complete'])
  stream.resume()
  expect(take()).toEqual(['resumed'])
  client.full = false
  stream.resume()
  expect(take()).toEqual(['client 1', 'client 2', 'client ended', 'resumed'])
  stream.resume()
  expect(take()).toEqual(['resumed'])
})

test('a client that has caught up gets the next piece and the end at once', () => {
  const { stream, client, take, source } = rig({ isFollowed: true })
  stream.pipe(client)
  client.full = true
  source().write('a')
  client.full = false
  stream.resume()
  take()
  source().write('bb')
  source().end()
  expect(take()).toEqual(['tap 2', 'client 2', 'complete', 'client ended'])
})

test('a client that lies more than 8 MiB behind is cut, and what it has got does not count', () => {
  const { stream, client, take, source } = rig({ isFollowed: true })
  const piece = new Uint8Array(8 * 1024 * 1024)
  stream.pipe(client)
  client.full = true
  source().write(piece)
  client.full = false
  stream.resume()
  client.full = true
  source().write(piece)
  expect(take()).not.toContain('client cut')
  source().write('x')
  source().write('y')
  source().end()
  expect(take()).toEqual(['tap 1', 'client cut', 'tap 1', 'complete'])
  client.full = false
  stream.resume()
  expect(take()).toEqual(['resumed'])
})

test('when its client leaves, the source ends unless others follow', () => {
  const alone = rig()
  alone.stream.pipe(alone.client)
  alone.stream.cancel()
  expect(alone.take()).toEqual(['read', 'cancelled'])
  const followed = rig({ isFollowed: true })
  followed.stream.pipe(followed.client)
  followed.stream.cancel()
  followed.source().write('abc')
  followed.source().end()
  followed.stream.resume()
  expect(followed.take()).toEqual(['read', 'resumed', 'tap 3', 'complete', 'resumed'])
  const unread = rig({ isFollowed: true })
  unread.stream.cancel()
  expect(unread.take()).toEqual(['read'])
})
