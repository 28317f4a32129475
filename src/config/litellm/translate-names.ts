/** Translates LiteLLM's names in a configuration into ours; leaves out keys that have no function here. */
import { isOtherPriceKey, isReadPriceKey } from '../prices/read-price-keys.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { closestMatch, isMisspelt } from '../../lib/closest-match.ts'
import {
  asksForNothing,
  keysWithoutFunction,
  modeSpellings,
  openSections,
  otherModes,
  otherStores,
  otherNames,
  sectionsWithDefaults,
  restricts,
  sharedSections,
  strategyNames,
  unenforcedKeys,
} from './litellm-keys.ts'
import { withAffinity } from './litellm-affinity.ts'
import { withClientCredentials } from './litellm-credentials.ts'
import { withDroppedFields } from './litellm-dropped-fields.ts'
import { withoutCooldowns } from './litellm-cooldowns.ts'
import { withRates } from './litellm-rates.ts'
import { withTeamSettings } from './litellm-team-settings.ts'
import { writtenPathOf } from '../reading/reading.ts'
import type { Path } from '../reading/paths.ts'
import type { Finding } from '../reading/reading.ts'

/** A file in our own names. */
interface NamedFile {
  readonly value: unknown
  /** The file is written in LiteLLM's names. */
  readonly isPeers: boolean
  /** By path in our names, as JSON: the name in the file, where it is another. */
  readonly written: ReadonlyMap<string, string>
  /** A path in our names as the path in the names of the file. */
  writtenPath(path: Path): Path
}

interface Reading {
  /** A file, not an entry that is sent: what is empty there is not given, and what is off is no warning. */
  readonly isFile: boolean
  readonly findings: Finding[]
  readonly warnings: Finding[]
  /** The keys that the schema has at a path. */
  keysAt(path: Path): readonly string[]
}

/**
 * Adds a mistake where a key is given under two names and for one that restricts and is not enforced here, and a
 * warning for each other key that has no effect.
 */
export function translateNames(value: unknown, reading: Reading): NamedFile {
  const written = new Map<string, string>()
  const writtenPath = (path: Path): Path => writtenPathOf(written, path)
  const renamed = withOurNames(value, [], { ...reading, written })
  const isPeers = reading.isFile && isOfLiteLlm(value)
  const rated = isPeers ? translated(renamed, reading.warnings) : renamed
  const used = withoutUnused(rated, [], { ...reading, isPeers, writtenPath })
  return { value: used, isPeers, written, writtenPath }
}

/** What LiteLLM means by values that are others here. */
const translated = (file: unknown, warnings: Finding[]): unknown =>
  withAffinity(
    withClientCredentials(
      withTeamSettings(withoutCooldowns(withRates(withDroppedFields(file, warnings), warnings)), warnings),
    ),
  )

/** Whether a file is written in LiteLLM's names: those of our own are strict in all sections. */
function isOfLiteLlm(value: unknown): boolean {
  if (!isObject(value)) return false
  const models = Array.isArray(value.model_list) ? value.model_list : []
  return 'litellm_settings' in value || models.some(entry => isObject(entry) && 'litellm_params' in entry)
}

const patternOf = (path: Path): string => path.map(part => (typeof part === 'number' ? '*' : part)).join('.')

function withOurNames(
  value: unknown,
  path: Path,
  reading: Reading & { readonly written: Map<string, string> },
): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withOurNames(one, [...path, at], reading))
  if (!isObject(value)) return value
  const out: Record<string, unknown> = {}
  for (const [key, one] of Object.entries(value)) {
    const ours = otherNames.get(patternOf([...path, key])) ?? key
    const place = JSON.stringify([...path, ours])
    const earlier = Object.hasOwn(out, ours) ? (reading.written.get(place) ?? ours) : undefined
    if (ours === key) reading.written.delete(place)
    else reading.written.set(place, key)
    if (earlier !== undefined)
      reading.findings.push({ path: [...path, ours], message: `is the same as \`${earlier}\`; keep one`, atKey: true })
    out[ours] = withOurNames(one, [...path, ours], reading)
  }
  return out
}

const noEffect = 'has no effect here'
const notEnforced = 'restricts, and this gateway does not enforce it'

type PruningOptions = Reading & Pick<NamedFile, 'writtenPath' | 'isPeers'>

function withoutUnused(value: unknown, path: Path, reading: PruningOptions): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withoutUnused(one, [...path, at], reading))
  if (!isObject(value)) return value
  const out: Record<string, unknown> = {}
  const { isPeers, warnings } = reading
  const pattern = patternOf(path)
  const isOpen = openSections.has(String(reading.writtenPath(path).at(-1))) || (isPeers && sharedSections.has(pattern))
  for (const [key, one] of Object.entries(value)) {
    const inside = [...path, key]
    const remedy =
      keysWithoutFunction.get(patternOf(inside)) ??
      (isPriceSection(path) && isOtherPriceKey(key) ? '' : undefined) ??
      (isOpen ? remedyForUnknown(key, path, reading) : undefined)
    const unenforced = unenforcedKeys.get(patternOf(inside))
    // LiteLLM's pages send it so where no team is chosen.
    if (one === '' && patternOf(inside) === 'model_list.*.model_info.team_id') continue
    if (unenforced !== undefined && restricts(patternOf(inside), one))
      reading.findings.push({ path: inside, message: `${notEnforced}: ${unenforced}; then take it out`, atKey: true })
    else if (remedy !== undefined) {
      if (!(reading.isFile && asksForNothing(patternOf(inside), one)))
        warnings.push({ path: inside, message: remedy ? `${noEffect}: ${remedy}` : noEffect, atKey: true })
    } else if (patternOf(inside) === modePattern && otherModes.has(one))
      warnings.push({ path: inside, message: `${noEffect}: \`${one}\` is no mode of this gateway` })
    else if (isPeers && patternOf(inside) === 'settings.cache_params.type' && otherStores.has(one))
      warnings.push({ path: inside, message: `${noEffect}: answers are kept in memory or in Redis (docs/cache.md)` })
    // A note of the operator's at LiteLLM, such as `200K`.
    else if (isPeers && patternOf(inside) === 'model_list.*.model_info.context_window' && typeof one === 'string')
      warnings.push({ path: inside, message: `${noEffect}: it is a number of tokens`, atKey: true })
    else if (isPeers && (one === null || one === '') && sectionsWithDefaults.has(pattern))
      warnings.push({ path: inside, message: 'is empty, and counts as not given', atKey: true })
    else if (patternOf(inside) === modePattern) out[key] = modeSpellings.get(one) ?? one
    else if (patternOf(inside) === 'router_settings.routing_strategy') out[key] = strategyNames.get(one) ?? one
    else out[key] = withoutUnused(one, inside, reading)
  }
  return out
}

const isPriceSection = (path: Path): boolean => /^model_list\.\*\.(?:proxy_params|model_info)$/.test(patternOf(path))

const modePattern = 'model_list.*.model_info.mode'

/** undefined = the key has a function, or is a misspelt one. */
function remedyForUnknown(key: string, path: Path, { keysAt }: Reading): string | undefined {
  const prefix = path.length === 0 ? '' : `${patternOf(path)}.`
  const others = [...keysWithoutFunction.keys()]
    .filter(one => one.startsWith(prefix))
    .map(one => one.slice(prefix.length))
  if (prefix.startsWith('model_list.*.') && isReadPriceKey(key)) return undefined
  const known = keysAt(path)
  if (known.includes(key) || isMisspelt(key, [...known, ...others])) return undefined
  const near = closestMatch(key, known)
  return `it is not known${near === undefined ? '' : `; did you mean \`${near}\`?`}`
}
