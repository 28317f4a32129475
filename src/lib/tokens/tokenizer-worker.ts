/** The thread of the tokenizer. Its tables take 0.1 GB, which end with the thread. */
import { compileAsUsual } from '../compile-policy.ts'
import type { Decoding, Encoding, TokenizerReply, TokenizerRequest } from './tokenizer.ts'

declare const self: Worker

compileAsUsual()

/** A token: its text, or its bytes where they are not UTF-8 by themselves. */
type Piece = string | readonly number[]

interface Vocabulary {
  count(text: string): number
  /** undefined = there is no such id. */
  piece(id: number): Piece | undefined
}

/** Words such as `<|endoftext|>` in a client's text are text. */
const plainText = { disallowedSpecial: new Set<string>() }

interface Tables {
  readonly countTokens: (text: string, options: typeof plainText) => number
  readonly decode: (ids: readonly number[]) => string
}

/** `pieces` by id, without the special tokens. */
function vocabularyOf({ countTokens, decode }: Tables, pieces: readonly Piece[]): Vocabulary {
  return {
    count: text => countTokens(text, plainText),
    piece(id) {
      const piece = pieces[id]
      if (piece !== undefined) return piece
      try {
        // Of one id only: over several, the package keeps the rest of a cut character for the next call.
        return decode([id])
      } catch {
        return undefined
      }
    },
  }
}

/** Only the tables that are asked for are ever read. */
const loaders: Readonly<Record<Encoding, () => Promise<Vocabulary>>> = {
  async o200k_base() {
    const tables = await import('gpt-tokenizer/encoding/o200k_base')
    return vocabularyOf(tables, (await import('gpt-tokenizer/bpeRanks/o200k_base')).default)
  },
  async cl100k_base() {
    const tables = await import('gpt-tokenizer/encoding/cl100k_base')
    return vocabularyOf(tables, (await import('gpt-tokenizer/bpeRanks/cl100k_base')).default)
  },
}
const loaded = new Map<Encoding, Promise<Vocabulary>>()

function load(encoding: Encoding): Promise<Vocabulary> {
  let vocabulary = loaded.get(encoding)
  if (!vocabulary) loaded.set(encoding, (vocabulary = loaders[encoding]()))
  return vocabulary
}

type DecodeRequest = Extract<TokenizerRequest, { kind: 'decode' }>

function decodeAll(vocabulary: Vocabulary, { inputs, charactersMax }: DecodeRequest): Decoding {
  const texts: string[] = []
  let room = charactersMax
  for (const [input, ids] of inputs.entries()) {
    let text = ''
    /** Tokens may cut a character: its bytes are read together. */
    let bytes: number[] = []
    for (const [at, id] of ids.entries()) {
      const piece = vocabulary.piece(id)
      if (piece === undefined) return { kind: 'unknown-id', input, at, id }
      if (typeof piece === 'string') {
        text += utf8(bytes) + piece
        bytes = []
      } else bytes.push(...piece)
      if (text.length + bytes.length > room) return { kind: 'too-long', charactersMax }
    }
    text += utf8(bytes)
    room -= text.length
    texts.push(text)
  }
  return { kind: 'decoded', texts }
}

const utf8 = (bytes: readonly number[]): string => (bytes.length === 0 ? '' : Buffer.from(bytes).toString('utf8'))

const send = (reply: TokenizerReply) => postMessage(reply)

self.onmessage = ({ data }: MessageEvent<TokenizerRequest>) => {
  load(data.encoding).then(
    vocabulary => {
      send({ kind: 'loaded' })
      if (data.kind === 'decode') send(decodeAll(vocabulary, data))
      else send({ kind: 'counted', counts: data.texts.map(text => vocabulary.count(text)) })
    },
    // A thread that cannot load its tables ends, and the main thread makes do without it.
    () => process.exit(1),
  )
}
