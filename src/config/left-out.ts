/** What is left of a file in which single entries of the model list are broken. */
import { wildcardRest } from '../access/models/model-index.ts'
import type { ConfigReading } from './reading/reading.ts'

/** What of a file is not served. */
export interface LeftOut {
  /** The `model_name` of each entry; '' = it has none that can be read. */
  readonly names: readonly string[]
  /** The mistakes, one a line, with file, line and column. */
  readonly lines: readonly string[]
}

/**
 * The reading without the entries that `mistakes` are about. undefined = a mistake is about something else, no entry is
 * left, or calls of an entry that is left out would go to a pattern, and so to another upstream than the file says.
 */
export function withoutBrokenEntries(
  reading: ConfigReading,
  mistakes: readonly string[],
): { readonly rest: ConfigReading; readonly leftOut: LeftOut } | undefined {
  const { entries, config } = reading
  const broken = new Set(mistakes.map(entryNamed))
  if (!entries || !config || broken.has(undefined)) return undefined
  const kept = entries.flatMap(one => (broken.has(one.at) ? [] : (one.entry ?? [])))
  const names = entries.flatMap(one => (broken.has(one.at) ? [one.name ?? ''] : []))
  const others = new Set(kept.map(one => one.model_info?.team_public_model_name ?? one.model_name))
  const isCaught = (name: string) => !others.has(name) && [...others].some(one => isPatternFor(one, name))
  if (kept.length === 0 || names.some(isCaught)) return undefined
  return {
    rest: {
      ...reading,
      config: { ...config, model_list: kept },
      // Their names count as there, for fallbacks and for entries that stand for every vendor.
      entries: entries.map(one => (broken.has(one.at) ? { ...one, entry: undefined } : one)),
      mistakes: [],
    },
    leftOut: { names, lines: mistakes },
  }
}

/** A name that cannot be read may be any. */
const isPatternFor = (pattern: string, name: string): boolean =>
  pattern.includes('*') && (name === '' || wildcardRest(pattern, name) !== undefined)

/** The index of the entry that a line `config.yaml:12:5 model_list.0: message` is about. */
function entryNamed(line: string): number | undefined {
  const [, at] = /^.*?:\d+:\d+ model_list\.(\d+)[.:]/.exec(line) ?? []
  return at === undefined ? undefined : Number(at)
}
