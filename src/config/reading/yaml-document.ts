/** Parses the text of a file as one YAML document; reports syntax errors by line and column. */
import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import type { Document, Node, Pair } from 'yaml'
import type { Path } from './paths.ts'
import type { Finding, SourceLocation, LocationTree } from './reading.ts'

const textBytesMax = 5 * 1024 * 1024

/** A text that is one YAML document and not empty. */
interface YamlReading {
  readonly locations: LocationTree
  /** Never null. Of duplicate keys it has the last value. */
  readonly value: unknown
  /** Mistakes that leave a value for further checks. */
  readonly findings: readonly Finding[]
  locationAt(offset: number): SourceLocation
}

/** Returns only the mistakes if there is no value to check. */
export function readYaml(text: string, file: string): YamlReading | readonly string[] {
  if (Buffer.byteLength(text) > textBytesMax) return [`${file}:1:1 the file is larger than ${textBytesMax} bytes`]
  const lines = new LineCounter()
  // Duplicate keys are reported below, with their names and without stopping the parser.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, merge: true })
  const locationAt = (offset: number): SourceLocation => {
    const { line, col } = lines.linePos(offset)
    return { offset, text: `${file}:${line}:${col}` }
  }
  const errors = document.errors.filter(error => error.code !== 'MULTIPLE_DOCS')
  if (errors.length > 0)
    return errors.map(
      error => `${locationAt(error.pos[0]).text} ${error.code === 'BAD_ALIAS' ? unquotedStar : error.message}`,
    )
  const unresolved = aliasesWhere(document, target => target === undefined)
  if (unresolved.length > 0) return unresolved.map(offset => `${locationAt(offset).text} ${unquotedStar}`)
  const recursive = aliasesWhere(document, (target, above) => target !== undefined && above.includes(target))
  if (recursive.length > 0)
    return recursive.map(
      offset => `${locationAt(offset).text} an alias inside of what it stands for has no end; write it out`,
    )
  const more = document.errors.map(error => error.pos[0])
  const secondDocument = 'a second document begins here; the file must hold one: take out the `---`, or what follows it'
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    return [`${file}:1:1 ${(error as Error).message}`]
  }
  if (value === null || value === undefined)
    return [more.length > 0 ? `${locationAt(more[0]!).text} ${secondDocument}` : `${file}:1:1 ${empty}`]
  const keys = keyFindings(document.contents, [], offset => lines.linePos(offset).line)
  return {
    locations: locationsOf(document.contents, { above: locationAt(0), locationAt }),
    value,
    findings: [...more.map(offset => ({ path: [], message: secondDocument, offset })), ...keys],
    locationAt,
  }
}

/**
 * Editors and copy commands truncate a file before they write it; reading that as "no models" would remove all models.
 */
const empty =
  'the file is empty; give it a `model_list`, write `model_list: []` to offer no models but the built-in ones, ' +
  'or name no file and the keys of the environment decide'

const unquotedStar =
  'a text that begins with `*` must stand in quotes, as "*": without them it is the name of an anchor, and there is ' +
  'none'

/** Offsets of aliases that match. An alias inside its own anchor is endless recursion. */
function aliasesWhere(
  document: Document.Parsed,
  isMatch: (target: Node | undefined, above: readonly unknown[]) => boolean,
): number[] {
  const offsets: number[] = []
  visit(document, {
    Alias(_key, alias, above) {
      if (isMatch(alias.resolve(document), above)) offsets.push(alias.range?.[0] ?? 0)
    },
  })
  return offsets
}

/** Reports duplicate keys and the key `__proto__`. */
function keyFindings(node: unknown, path: Path, lineOf: (offset: number) => number): Finding[] {
  if (isSeq(node)) return node.items.flatMap((one, at) => keyFindings(one, [...path, at], lineOf))
  if (!isMap(node)) return []
  const first = new Map<string, number>()
  return node.items.flatMap(({ key, value }) => {
    if (!isScalar(key)) return keyFindings(value, path, lineOf)
    const name = String(key.value)
    const offset = key.range?.[0] ?? 0
    const earlier = first.get(name)
    // JavaScript would set the prototype, and the value would be lost.
    if (name === '__proto__')
      return [{ path: [...path, name], message: 'cannot be a name here; choose another', atKey: true, offset }]
    const inside = keyFindings(value, [...path, name], lineOf)
    // The merge key `<<` may be repeated.
    if (earlier === undefined || name === '<<') {
      first.set(name, offset)
      return inside
    }
    const message = `the key \`${name}\` stands in line ${lineOf(earlier)} already; keep one of them`
    return [{ path: [...path, name], message, atKey: true, isRepeated: true, offset }, ...inside]
  })
}

/** `above` = the location of what holds the value: an empty value has none of its own. */
function locationsOf(
  node: unknown,
  {
    key,
    above,
    locationAt,
  }: { key?: SourceLocation; above: SourceLocation; locationAt: (offset: number) => SourceLocation },
): LocationTree {
  const begin = (node as Node | null)?.range?.[0]
  const value = begin === undefined ? (key ?? above) : locationAt(begin)
  const own = { key: key ?? value, value }
  const inside = new Map<string | number, LocationTree>()
  if (isSeq(node))
    for (const [at, one] of node.items.entries()) inside.set(at, locationsOf(one, { above: value, locationAt }))
  else if (isMap(node))
    // The last of duplicate keys counts: its value was read.
    for (const pair of node.items as Pair[])
      if (isPair(pair) && isScalar(pair.key)) {
        const keyBegin = pair.key.range?.[0]
        const keyLocation = keyBegin === undefined ? value : locationAt(keyBegin)
        inside.set(String(pair.key.value), locationsOf(pair.value, { key: keyLocation, above: value, locationAt }))
      }
  return inside.size === 0 ? own : { ...own, inside }
}
