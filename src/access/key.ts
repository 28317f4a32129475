/** The rules of virtual keys, as pure functions. */
import type { VirtualKey } from '../core/caller.ts'
import { NameList } from './models/name-list.ts'

const keyBytes = 32

/** A new secret key: `sk-` and 256 random bits in base64url. Shown once; only its hash is stored. */
export function mintKey(): string {
  return `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(keyBytes))).toString('base64url')}`
}

const masterKeyLengthMin = 32
const distinctCharactersMin = 10

/** Why `text`, trimmed, is refused as a master key, and the remedy; undefined = it is accepted. */
export function masterKeyProblem(text: string): string | undefined {
  const key = text.trim()
  const remedy =
    'make one with: echo "sk-$(openssl rand -base64 32)", or leave it out: MODELGATE_MASTER_KEY counts then, or the ' +
    'first start makes one'
  if (/[^\x21-\x7e]/.test(key))
    return `holds a space, a line end or a character beyond ASCII, so that no client can send it; ${remedy}`
  if (key.length < masterKeyLengthMin) return `is shorter than ${masterKeyLengthMin} characters; ${remedy}`
  if (new Set(key.replace(/^sk-/, '')).size < distinctCharactersMin)
    return `repeats too few different characters to be random; ${remedy}`
  if (/^(sk-)?(1234|test|example|changeme|password)/i.test(key))
    return `begins like an example from documentation; ${remedy}`
  if (isPredictable(key.replace(/^sk-/, ''))) return `is an alphabet, a row of keys or a repeated word; ${remedy}`
  return undefined
}

const orders = ['abcdefghijklmnopqrstuvwxyz', '01234567890', 'qwertyuiop', 'asdfghjkl', 'zxcvbnm']
/** Of random hexadecimal digits a fifth follow from the one before (in 32 of them 20 %, with a deviation of 7 %). */
const predictableShareMax = 2 / 3

/** Most of its characters follow from the one before, or all of them from an earlier part. */
function isPredictable(key: string): boolean {
  const signs = key.toLowerCase()
  const isNext = (pair: string) => pair[0] === pair[1] || orders.some(order => order.includes(pair))
  let predictable = 0
  for (let at = 1; at < signs.length; at++)
    if (isNext(signs.slice(at - 1, at + 1)) || isNext(signs[at]! + signs[at - 1]!)) predictable++
  if (predictable > (signs.length - 1) * predictableShareMax) return true
  // The shortest text of which it is made by repetition: the text is a part of itself written twice.
  return (signs + signs).indexOf(signs, 1) < signs.length
}

/** The displayed form of a key: `sk-...` and its last four characters. */
export function keyHint(keyText: string): string {
  return `sk-...${keyText.slice(-4)}`
}

/** Why an existing key may not be used at `nowMs` (epoch milliseconds); undefined = it may. */
export function keyProblem(key: VirtualKey, nowMs: number): 'blocked' | 'expired' | undefined {
  if (key.blocked) return 'blocked'
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) return 'expired'
  return undefined
}

type AccessGroups = Readonly<Record<string, readonly string[]>>

/**
 * The list of a key, a team, a user or an organization: an empty one allows every model; its entries are names,
 * patterns with `*`, groups or `all-proxy-models`.
 */
export function mayUseModel(models: readonly string[], model: string, groups: AccessGroups): boolean {
  if (models.length === 0) return true
  const list = NameList.of(models)
  return list.matches(model) || list.names('all-proxy-models') || list.matchesInGroups(model, groups)
}

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  mo: 30 * 86_400_000,
}

/** A thousand years: keeps the end a date with a year of four digits, which every store and client can read. */
const durationMsMax = 365_000 * 86_400_000

/** `45s`, `15m`, `12h`, `30d`, `2w`, `1mo` (30 days) in milliseconds, or what is wrong with it. */
export function readDuration(text: string): { readonly ms: number } | { readonly problem: string } {
  const found = /^(\d+)(s|mo|m|h|d|w)$/.exec(text.trim())
  if (!found) return { problem: 'must be a number and a unit: 45s, 15m, 12h, 30d, 2w, 1mo' }
  const ms = Number(found[1]) * unitMs[found[2]!]!
  if (ms === 0) return { problem: 'must be at least 1s' }
  if (ms > durationMsMax)
    return { problem: 'must be at most 365000d (1000 years); leave it out for a key without an end' }
  return { ms }
}

const metadataTagsMax = 100

/** The tags of each call with the key: its field, and 100 `tags` of its metadata, where LiteLLM stores them. */
export function tagsOfKey({ tags, metadata }: Pick<VirtualKey, 'tags' | 'metadata'>): string[] {
  const stored: unknown[] = Array.isArray(metadata.tags) ? metadata.tags : []
  return [...tags, ...stored.slice(0, metadataTagsMax).filter(one => typeof one === 'string')]
}
