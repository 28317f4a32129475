/** A vendor's answers: whole and as the bytes of a stream, from the vendor's documented examples. */
import type { ChatRequest } from '../../../src/core/hub/chat.ts'

export type Json = Record<string, unknown>

export interface AnswerFixture {
  readonly name: string
  /** The body of a whole answer. */
  readonly whole?: unknown
  /** The pieces of a stream, as the family's `bytes` takes them; text goes in as it is. */
  readonly stream?: readonly unknown[]
  /** What the client asked for, beside the defaults. */
  readonly request?: Partial<ChatRequest>
  /** Whole and stream are not the same answer. */
  readonly apart?: true
}

export interface AnswerFamily {
  readonly name: string
  /** Providers whose reader this is. */
  readonly providers: readonly string[]
  readonly bytes: (pieces: readonly unknown[]) => Uint8Array
  readonly fixtures: readonly AnswerFixture[]
}

const written = (piece: unknown, frame: (json: string) => string): string =>
  typeof piece === 'string' ? piece : frame(JSON.stringify(piece))

/** `data:` events. */
export const dataBytes =
  (lineEnd = '\n', last = '') =>
  (pieces: readonly unknown[]): Uint8Array =>
    Buffer.from(pieces.map(piece => written(piece, json => `data: ${json}${lineEnd}${lineEnd}`)).join('') + last)

/** Events named as their `type`. */
export function namedBytes(pieces: readonly unknown[]): Uint8Array {
  return Buffer.from(
    pieces
      .map(piece => written(piece, json => `event: ${(piece as { type: string }).type}\ndata: ${json}\n\n`))
      .join(''),
  )
}

/** One JSON document a line. */
export const lineBytes = (pieces: readonly unknown[]): Uint8Array =>
  Buffer.from(pieces.map(piece => written(piece, json => `${json}\n`)).join(''))
