/**
 * Texts whose ratio of tokens to bytes is measured: prose of many languages (article 1 of the Universal Declaration of
 * Human Rights, and sentences of our own), code, data, and what is hard for vocabularies. The same on every run.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import prose from './prose.json' with { type: 'json' }

/** One kind of text. */
export interface HardText {
  readonly name: string
  readonly text: string
}

/** A generator of whole numbers below 2^32: the same texts on every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 8
  }
}

function randomBytes(length: number): Buffer {
  const next = numbers(7)
  return Buffer.from(Array.from({ length }, () => next() & 0xff))
}

function drawn(characters: readonly string[], length: number): string {
  const next = numbers(11)
  return Array.from({ length }, () => characters[next() % characters.length]!).join('')
}

const emoji = [...'😀😂🥹🤖🦊🐉🌶🍣🚀⚙🛰🧬💶📎🔒🗝🪐🫠🏳🌈👩👨👧👍🏽🇩🇪🇯🇵🇿🇦']
const code = (folder: string, ending: string): string =>
  readdirSync(resolve(import.meta.dirname, '../..', folder))
    .filter(name => name.endsWith(ending))
    .map(name => readFileSync(join(import.meta.dirname, '../..', folder, name), 'utf8'))
    .join('\n')
    .slice(0, 16_000)

const python =
  'def __init__(self, *, max_tokens: int | None = None, **kwargs):\n\tsuper().__init__(**kwargs)\n\t' +
  'self._lookup = {k: v for k, v in zip("abc", [0x1F, 1e-9, 3.14159])}\n\treturn not (x != y and z <= 10 ** 9)\n'
const table =
  'id;date;amount;iban\n1;2026-11-28;1,234.56;DE89 3704 0044 0532 0130 00\n2;1999-01-31;-0.07;GB82 WEST 1234\n'
const log =
  '2026-11-28T23:59:59.999Z ERROR [pool-7-thread-42] com.acme.Foo - 10.0.0.1:5432 0xdeadbeef uid=1001 {"ok":false}\n'

const lines = (text: string): string => text.replace(/.{76}/g, '$&\n')

/** All of them. */
export function hardTexts(): readonly HardText[] {
  const bytes = randomBytes(3000)
  const digits = drawn([...'0123456789'], 4000)
  const more = {
    typescript: code('src/lib/json', '.ts'),
    markdown: code('docs', '.md'),
    json: code('examples', '.json'),
    python: python.repeat(4),
    table: table.repeat(4),
    log: log.repeat(4),
    base64: lines(bytes.toString('base64')),
    base64url: lines(bytes.toString('base64url')),
    hex: lines(bytes.toString('hex')),
    hexUpper: lines(bytes.toString('hex').toUpperCase()),
    uuids: bytes.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/g, '$1-$2-$3-$4-$5\n'),
    capitals: prose.english.toUpperCase() + prose.medicine.toUpperCase(),
    digits: lines(digits),
    figures: digits.replace(/(\d{1,5})(\d\d)/g, '$1.$2 '),
    symbols: lines(drawn([...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'], 3000)),
    blanks: '\n'.repeat(500) + '\r\n\t'.repeat(300) + ' \n'.repeat(200) + ' '.repeat(999),
    emoji: drawn(emoji, 2000),
    skins: '👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈'.repeat(60),
    mathematics: drawn([...'∀∃∈∉∑∏∫√∞≤≥≠≈→⇒⟨⟩αβγδελμπσω²³½×÷'], 2000),
    boxes: drawn([...'─│┌┐└┘├┤┬┴┼═║╔╗╚╝█▓▒░•…–—“”„‘’€'], 2000),
  }
  return [...Object.entries(prose), ...Object.entries(more)].map(([name, text]) => ({ name, text }))
}
