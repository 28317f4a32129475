/** The thread of the tokenizer. Its tables take 0.1 GB, which end with the thread. */
import { countBytes } from './byte-classes.ts'
import { compileAsUsual } from '../compile-policy.ts'
import type { Decoding, Encoding, Measure, TokenizerReply, TokenizerRequest } from './tokenizer.ts'

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

/** Merging the bytes of one run takes time by the square of its length. */
const runCharactersMax = 128
const longRun = /\S{129,}|\s{129,}/g

/** Long runs in parts. A cut may save the token that it goes through, so that each counts as one. */
function countInParts(vocabulary: Vocabulary, text: string): number {
  let tokens = 0
  let counted = 0
  for (const { 0: run, index } of text.matchAll(longRun)) {
    tokens += vocabulary.count(text.slice(counted, index)) + 1
    for (let from = 0; from < run.length; from += runCharactersMax)
      tokens += vocabulary.count(run.slice(from, from + runCharactersMax)) + 1
    counted = index + run.length
  }
  return tokens + vocabulary.count(counted === 0 ? text : text.slice(counted))
}

async function measure(encodings: readonly Encoding[], texts: readonly string[]): Promise<Measure> {
  const tokens: Partial<Record<Encoding, number>> = {}
  for (const encoding of encodings) {
    const vocabulary = await load(encoding)
    tokens[encoding] = texts.reduce((sum, text) => sum + countInParts(vocabulary, text), 0)
  }
  return { tokens, bytes: countBytes(texts) }
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

async function answer(request: TokenizerRequest): Promise<void> {
  if (request.kind === 'measure') {
    await Promise.all(request.encodings.map(load))
    send({ kind: 'loaded' })
    send({ kind: 'measured', ...(await measure(request.encodings, request.texts)) })
    return
  }
  const vocabulary = await load(request.encoding)
  send({ kind: 'loaded' })
  if (request.kind === 'decode') send(decodeAll(vocabulary, request))
  else send({ kind: 'counted', counts: request.texts.map(text => vocabulary.count(text)) })
}

self.onmessage = ({ data }: MessageEvent<TokenizerRequest>) => {
  // A thread that cannot load its tables ends, and the main thread makes do without it.
  answer(data).catch(() => process.exit(1))
}
