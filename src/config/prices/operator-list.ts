/**
 * A price list of the operator in the shape of LiteLLM's `model_prices_and_context_window.json`: an object of entries
 * by the name of their model. Its prices win over those of the built-in list, one by one.
 */
import { createHash, createPublicKey, verify } from 'node:crypto'
import { isObject } from '../../lib/json/json-values.ts'
import { flags } from '../models/capabilities.ts'
import type { Capabilities } from '../models/capabilities.ts'
import { billedTerms } from './billed-terms.ts'
import { isListedAs, isPartOfModel, listedModes, nameOfKey, writtenName } from './litellm-names.ts'
import { isReadPriceKey, readPriceKeys } from './read-price-keys.ts'
import type { ReadPrices } from './read-price-keys.ts'

/** LiteLLM's list has 3 MB. */
export const listBytesMax = 32 * 1024 * 1024

/** How a list is known to be the one that is meant. */
export interface ListPins {
  /** SHA-256 of the whole file, in hexadecimal digits. */
  readonly sha256?: string | undefined
  /** An Ed25519 public key: 32 bytes in base64. The signature of the file is at `<source>.sig`, in base64. */
  readonly publicKey?: string | undefined
}

/** What the list has of one model. */
export interface OperatorEntry {
  /** What it says of prices, by itself: another list may have more. */
  readonly read: ReadPrices
  readonly capabilities: Capabilities
  /** The key of the entry. */
  readonly name: string
}

type Entry = Readonly<Record<string, unknown>>

/** A list that was read. */
export class OperatorList {
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly sha256: string
  /** Where it is from: a path or an address. */
  readonly source: string
  /** Models with a price. */
  readonly priced: number
  /** The day that its prices are of, in milliseconds since 1970; undefined = neither the list nor its file says it. */
  datedMs: number | undefined
  /** By the name of the model without its provider: entries of one name differ in the provider. */
  readonly #entries = new Map<string, { readonly key: string; readonly entry: Entry }[]>()

  private constructor(source: string, sha256: string, entries: readonly (readonly [string, Entry])[]) {
    this.source = source
    this.sha256 = sha256
    let priced = 0
    for (const [key, entry] of entries) {
      if (readPriceKeys(entry, {}).terms.some(({ price }) => price > 0n)) priced++
      const name = nameOfKey('', key.slice(key.lastIndexOf('/') + 1), '')
      const same = this.#entries.get(name) ?? []
      same.push({ key, entry: usedFields(entry) })
      this.#entries.set(name, same)
    }
    this.priced = priced
  }

  /** Reads and checks a list. Throws an error that says what is wrong with it, and what to do. */
  static read(bytes: Buffer, source: string, pins: ListPins = {}, signature?: string): OperatorList {
    if (bytes.length > listBytesMax)
      throw new Error(
        `${source}: a price list has at most ${listBytesMax / 1024 / 1024} MB; this has ${bytes.length} bytes`,
      )
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    if (pins.sha256 !== undefined && pins.sha256.toLowerCase() !== sha256)
      throw new Error(
        `${source}: the file has the hash ${sha256}, and \`sha256\` is another; look what changed, then give that`,
      )
    if (pins.publicKey !== undefined && !isSigned(bytes, pins.publicKey, signature))
      throw new Error(`${source}: its signature (${source}.sig) is not one by \`public_key\`; sign the file again`)
    let list: unknown
    try {
      list = JSON.parse(bytes.toString('utf8'))
    } catch (error) {
      throw new Error(`${source}: is no JSON: ${(error as Error).message}; give a file in LiteLLM's shape`)
    }
    if (!isObject(list)) throw new Error(`${source}: must be an object of entries by name of their model`)
    const entries = Object.entries(list).filter(
      (one): one is [string, Entry] => isObject(one[1]) && one[0] !== 'sample_spec',
    )
    const read = new OperatorList(source, sha256, entries)
    read.datedMs = dateIn(list, source)
    if (read.priced === 0)
      throw new Error(`${source}: has no model with a price; entries have keys such as \`input_cost_per_token\``)
    return read
  }

  /**
   * The first of these names (as of `listNames`) that the list has for the provider. An entry without
   * `litellm_provider`, and without a provider before its name, counts for every provider.
   */
  find(provider: string, names: readonly string[]): OperatorEntry | undefined {
    for (const name of names)
      for (const { key, entry } of this.#entries.get(name.slice(name.lastIndexOf('/') + 1)) ?? []) {
        const word = typeof entry.litellm_provider === 'string' ? entry.litellm_provider : undefined
        const isOfProvider =
          word === undefined ? key.startsWith(`${provider}/`) || key.toLowerCase() === name : isListedAs(provider, word)
        if (isOfProvider && nameOfKey(provider, key, word ?? '') === name) return readEntry(key, entry, provider, name)
      }
    return undefined
  }

  /** The models of a provider that the list names, as it writes them. */
  namesOf(provider: string): readonly string[] {
    return [...this.#entries.values()].flat().flatMap(({ key, entry }) => {
      const word = entry.litellm_provider
      if (isPartOfModel(key) || typeof word !== 'string' || !isListedAs(provider, word)) return []
      return [writtenName(provider, key, word)]
    })
  }
}

const facts: ReadonlySet<string> = new Set([
  'litellm_provider',
  'mode',
  'web_search_billing_unit',
  'max_input_tokens',
  'max_output_tokens',
  'context_window',
  ...flags,
])

/** `updated_at` beside the entries, as `2026-11-29`. Throws for what is no day. */
function dateIn({ updated_at: day }: Entry, source: string): number | undefined {
  if (day === undefined || day === null) return undefined
  const ms = typeof day === 'string' && /^\d{4}-\d\d-\d\d/.test(day) ? Date.parse(day) : Number.NaN
  if (Number.isNaN(ms)) throw new Error(`${source}: \`updated_at\` must be a day such as 2026-11-29`)
  return ms
}

/** What is read of an entry; the rest of a public list is several megabytes. */
const usedFields = (entry: Entry): Entry =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => facts.has(key) || isReadPriceKey(key)))

function isSigned(bytes: Buffer, publicKey: string, signature: string | undefined): boolean {
  const raw = Buffer.from(publicKey, 'base64')
  if (raw.length !== 32 || signature === undefined) return false
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
    format: 'jwk',
  })
  return verify(null, bytes, key, Buffer.from(signature.trim(), 'base64'))
}

function readEntry(key: string, entry: Entry, provider: string, name: string): OperatorEntry {
  const mode = listedModes[String(entry.mode ?? 'chat')]
  const groundsPrompts = (provider === 'gemini' || provider === 'vertex_ai') && name.includes('gemini')
  const read = readPriceKeys(entry, { mode, groundsPrompts })
  return {
    name: key,
    read: { ...read, terms: billedTerms(read.terms) },
    capabilities: capabilitiesOf(entry, mode),
  }
}

function capabilitiesOf(entry: Entry, mode: string | undefined): Capabilities {
  const has: Record<string, unknown> = {}
  for (const limit of ['max_input_tokens', 'max_output_tokens', 'context_window'])
    if (Number.isSafeInteger(entry[limit])) has[limit] = entry[limit]
  for (const flag of flags) if (typeof entry[flag] === 'boolean') has[flag] = entry[flag]
  if (entry.mode !== undefined && mode !== undefined) has.mode = mode
  return has
}
