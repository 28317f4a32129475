/** What the parsers of `src/http` make of pieces of bytes, as one text. */
import { ChunkedReader } from '../../src/http/chunked-reader.ts'
import { MalformedResponseError } from '../../src/http/client/response-head.ts'
import { ResponseParser } from '../../src/http/client/response-parser.ts'
import { BodyFraming } from '../../src/http/server/body-framing.ts'
import { HeadReader } from '../../src/http/server/head-reader.ts'
import { ReceiveBuffer } from '../../src/http/server/receive-buffer.ts'
import { RefusedRequest } from '../../src/http/server/request-head.ts'

/** For messages that are no valid HTTP. */
const refused = 'refused'

const namesIn = (pieces: readonly Buffer[]): string[] =>
  [
    ...Buffer.concat(pieces)
      .toString('latin1')
      .matchAll(/^([^\s:]+):/gm),
  ].map(([, name]) => name!.toLowerCase())

/** One answer of an upstream; `refused` when the parser refuses it. Throws when events do not end. */
export function answerOutcome(pieces: readonly Buffer[]): string {
  const parser = new ResponseParser()
  const body: Uint8Array[] = []
  let ended = false
  let left = ''
  try {
    for (const piece of pieces) {
      if (ended) {
        left += piece.toString('latin1')
        continue
      }
      parser.feed(piece)
      for (let turns = 0; ; turns++) {
        if (turns > piece.length + 3) throw new Error('the parser does not advance')
        const event = parser.next()
        if (event === 'more') break
        if (event === 'body') {
          if (parser.piece.length === 0) throw new Error('an empty piece')
          body.push(parser.piece)
        }
        if (event === 'end') {
          ended = true
          left = piece.subarray(piece.length - parser.leftover).toString('latin1')
          break
        }
      }
    }
    if (!ended && parser.head) ended = parser.finish()
  } catch (thrown) {
    if (thrown instanceof MalformedResponseError) return refused
    throw thrown
  }
  const headers = namesIn(pieces).map(name => parser.head?.all(name))
  return JSON.stringify([parser.head ?? null, Buffer.concat(body).toString('latin1'), ended, left, headers])
}

/** The requests of a conversation with their bodies, and whether it was refused in the end. */
export function conversationOutcome(pieces: readonly Buffer[]): string {
  const kept = new ReceiveBuffer()
  const heads = new HeadReader()
  const framing = new BodyFraming()
  const names = namesIn(pieces)
  const said: unknown[] = []
  let body: string | undefined
  const receiver = {
    push(piece: Uint8Array) {
      body += Buffer.from(piece).toString('latin1')
    },
    end() {
      said.push(body)
      body = undefined
    },
  }
  try {
    for (const piece of pieces) {
      let bytes = kept.join(piece)
      for (let turns = 0; bytes.length > 0; turns++) {
        if (turns > piece.length + bytes.length + 3) throw new Error('the parser does not advance')
        if (body !== undefined) {
          bytes = framing.take(bytes, receiver)
          continue
        }
        const head = heads.read(bytes)
        bytes = heads.takeRest()
        if (!head) {
          kept.keep(bytes)
          break
        }
        said.push([head.method, head.target, head.isHttp10, head.keepAlive, head.expectsContinue])
        said.push(names.map(name => head.all(name)))
        if (framing.begin(head) !== 0) body = ''
      }
    }
  } catch (thrown) {
    if (!(thrown instanceof RefusedRequest)) throw thrown
    said.push(refused)
  }
  return JSON.stringify([said, body])
}

class BadChunk extends Error {}

/** A body in chunks, how many bytes it took, and whether it ended or was refused. */
export function chunksOutcome(pieces: readonly Buffer[]): string {
  const reader = new ChunkedReader(why => new BadChunk(why))
  let body = ''
  let taken = 0
  try {
    for (const piece of pieces) {
      for (let at = 0; at < piece.length; at = reader.at) {
        const event = reader.read(piece, at)
        if (reader.at <= at || reader.at > piece.length) throw new Error('the reader does not advance')
        taken += reader.at - at
        if (event === 'body') body += Buffer.from(reader.piece).toString('latin1')
        if (event === 'end') return JSON.stringify([body, 'ended', taken])
      }
    }
  } catch (thrown) {
    if (!(thrown instanceof BadChunk)) throw thrown
    return JSON.stringify([body, refused])
  }
  return JSON.stringify([body, 'goes on', taken])
}
