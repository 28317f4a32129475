/** Parses the text of a file as one YAML document; reports syntax errors by line and column. */
import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import type { Document, Node, Pair } from 'yaml'

const textBytesMax = 5 * 1024 * 1024

/** Keys and list indexes from the root: `['model_list', 0, 'model_name']`. Empty = the file itself. */
export type Path = readonly (string | number)[]

/** A mistake or a warning without line and column; `offsetOf` locates it. */
export interface Finding {
  readonly path: Path
  readonly message: string
  /** The key is wrong, not its value. */
  readonly atKey?: boolean
  /** The position, if the path does not determine it. */
  readonly offset?: number
}

/** A text that is one YAML document and not empty. */
interface YamlReading {
  readonly document: Document.Parsed
  /** Never null. Of duplicate keys it has the last value. */
  readonly value: unknown
  /** Mistakes that leave a value for further checks. */
  readonly findings: readonly Finding[]
  /** `config.yaml:12:5`. */
  place(offset: number): string
}

/** Returns only the mistakes if there is no value to check. */
export function readYaml(text: string, file: string): YamlReading | readonly string[] {
  if (Buffer.byteLength(text) > textBytesMax) return [`${file}:1:1 the file is larger than ${textBytesMax} bytes`]
  const lines = new LineCounter()
  // Duplicate keys are reported below, with their names and without stopping the parser.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, merge: true })
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${line}:${col}`
  }
  const errors = document.errors.filter(error => error.code !== 'MULTIPLE_DOCS')
  if (errors.length > 0)
    return errors.map(error => `${place(error.pos[0])} ${error.code === 'BAD_ALIAS' ? unquotedStar : error.message}`)
  const unresolved = aliasesWhere(document, target => target === undefined)
  if (unresolved.length > 0) return unresolved.map(offset => `${place(offset)} ${unquotedStar}`)
  const recursive = aliasesWhere(document, (target, above) => target !== undefined && above.includes(target))
  if (recursive.length > 0)
    return recursive.map(offset => `${place(offset)} an alias inside of what it stands for has no end; write it out`)
  const more = document.errors.map(error => error.pos[0])
  const secondDocument = 'a second document begins here; the file must hold one: take out the `---`, or what follows it'
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    return [`${file}:1:1 ${(error as Error).message}`]
  }
  if (value === null || value === undefined)
    return [more.length > 0 ? `${place(more[0]!)} ${secondDocument}` : `${file}:1:1 ${empty}`]
  const keys = keyFindings(document.contents, [], offset => lines.linePos(offset).line)
  return {
    document,
    value,
    findings: [...more.map(offset => ({ path: [], message: secondDocument, offset })), ...keys],
    place,
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
    return [{ path: [...path, name], message, atKey: true, offset }, ...inside]
  })
}

/** The offset of the value at `path`, in the names of the file, or of its nearest existing ancestor. */
export function offsetOf(document: Document.Parsed, { path, atKey, offset: known }: Finding): number {
  if (known !== undefined) return known
  let node = document.contents as Node | null
  let offset = node?.range?.[0] ?? 0
  for (const [depth, part] of path.entries()) {
    if (isSeq(node) && typeof part === 'number') node = (node.items[part] as Node | undefined) ?? null
    else if (isMap(node)) {
      const pair = findPair(node.items as Pair[], String(part))
      if (!pair) return offset
      const keyOffset = (pair.key as Node).range?.[0] ?? offset
      if (atKey && depth === path.length - 1) return keyOffset
      node = pair.value as Node | null
      offset = keyOffset
    } else return offset
    offset = node?.range?.[0] ?? offset
  }
  return offset
}

/** The last of duplicate keys, whose value was read. */
function findPair(items: readonly Pair[], name: string): Pair | undefined {
  return items.findLast(item => isPair(item) && isScalar(item.key) && String(item.key.value) === name)
}

/** Escapes control characters, so that a message is always one line. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
