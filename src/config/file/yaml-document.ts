/** A file's text as YAML: one document with something in it, or what is wrong with its outline, by line and column. */
import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import type { Document, Node, Pair } from 'yaml'

const textBytesMax = 5 * 1024 * 1024

/** Keys and places in lists from the top of the file down: `['model_list', 0, 'model_name']`. Empty = the file itself. */
export type Path = readonly (string | number)[]

/** A mistake or a warning that has no line and column yet; `offsetOf` finds them. */
export interface Finding {
  readonly path: Path
  readonly message: string
  /** The key is at fault, not its value. */
  readonly atKey?: boolean
  /** Where it stands, when the path alone does not say it. */
  readonly offset?: number
}

/** A text that is one YAML document with something in it. */
interface Outline {
  readonly document: Document.Parsed
  /** Never null. Of a key that stands twice it has the last value. */
  readonly value: unknown
  /** Mistakes that leave a value to be checked further. */
  readonly findings: readonly Finding[]
  /** `config.yaml:12:5`. */
  place(offset: number): string
}

/** The mistakes alone, when there is no value that could be checked. */
export function readOutline(text: string, file: string): Outline | readonly string[] {
  if (Buffer.byteLength(text) > textBytesMax) return [`${file}:1:1 the file is larger than ${textBytesMax} bytes`]
  const lines = new LineCounter()
  // Keys that stand twice are found below, with their names and without the end of the reading.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, merge: true })
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${line}:${col}`
  }
  const broken = document.errors.filter(error => error.code !== 'MULTIPLE_DOCS')
  if (broken.length > 0)
    return broken.map(error => `${place(error.pos[0])} ${error.code === 'BAD_ALIAS' ? star : error.message}`)
  const unresolved = aliasesWhere(document, meant => meant === undefined)
  if (unresolved.length > 0) return unresolved.map(offset => `${place(offset)} ${star}`)
  const endless = aliasesWhere(document, (meant, above) => meant !== undefined && above.includes(meant))
  if (endless.length > 0)
    return endless.map(offset => `${place(offset)} an alias inside of what it stands for has no end; write it out`)
  const more = document.errors.map(error => error.pos[0])
  const many = 'a second document begins here; the file must hold one: take out the `---`, or what follows it'
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    return [`${file}:1:1 ${(error as Error).message}`]
  }
  if (value === null || value === undefined)
    return [more.length > 0 ? `${place(more[0]!)} ${many}` : `${file}:1:1 ${empty}`]
  const keys = wrongKeys(document.contents, [], offset => lines.linePos(offset).line)
  return { document, value, findings: [...more.map(offset => ({ path: [], message: many, offset })), ...keys], place }
}

/** An editor or a copy empties the file before it writes: to read that as "no models" would drop every model. */
const empty =
  'the file is empty; give it a `model_list`, write `model_list: []` to offer no models but the built-in ones, ' +
  'or name no file and the keys of the environment decide'

const star =
  'a text that begins with `*` must stand in quotes, as "*": without them it is the name of an anchor, and there is none'

/** Where aliases stand whose meaning is so. One inside of its own anchor has no end for whoever follows it. */
function aliasesWhere(
  document: Document.Parsed,
  isSo: (meant: Node | undefined, above: readonly unknown[]) => boolean,
): number[] {
  const offsets: number[] = []
  visit(document, {
    Alias(_key, alias, above) {
      if (isSo(alias.resolve(document), above)) offsets.push(alias.range?.[0] ?? 0)
    },
  })
  return offsets
}

/** Keys that stand twice, and the one name that no key can have. */
function wrongKeys(node: unknown, path: Path, lineOf: (offset: number) => number): Finding[] {
  if (isSeq(node)) return node.items.flatMap((one, at) => wrongKeys(one, [...path, at], lineOf))
  if (!isMap(node)) return []
  const first = new Map<string, number>()
  return node.items.flatMap(({ key, value }) => {
    if (!isScalar(key)) return wrongKeys(value, path, lineOf)
    const name = String(key.value)
    const offset = key.range?.[0] ?? 0
    const earlier = first.get(name)
    // JavaScript would take it for something else, and it would be lost.
    if (name === '__proto__')
      return [{ path: [...path, name], message: 'cannot be a name here; choose another', atKey: true, offset }]
    const inside = wrongKeys(value, [...path, name], lineOf)
    // `<<` takes in what an anchor holds, and may do so several times.
    if (earlier === undefined || name === '<<') {
      first.set(name, offset)
      return inside
    }
    const message = `the key \`${name}\` stands in line ${lineOf(earlier)} already; keep one of them`
    return [{ path: [...path, name], message, atKey: true, offset }, ...inside]
  })
}

/** Where the value at `path` starts; as deep as the document goes. `namesOf` = other names of a key. */
export function offsetOf(
  document: Document.Parsed,
  { path, atKey, offset: known }: Finding,
  namesOf: (key: string) => readonly string[],
): number {
  if (known !== undefined) return known
  let node = document.contents as Node | null
  let offset = node?.range?.[0] ?? 0
  for (const [depth, part] of path.entries()) {
    if (isSeq(node) && typeof part === 'number') node = (node.items[part] as Node | undefined) ?? null
    else if (isMap(node)) {
      const pair = findPair(node.items as Pair[], [String(part), ...namesOf(String(part))])
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

/** The last one: its value is the one that was read. */
function findPair(items: readonly Pair[], names: readonly string[]): Pair | undefined {
  for (const name of names) {
    const found = items.findLast(item => isPair(item) && isScalar(item.key) && String(item.key.value) === name)
    if (found) return found
  }
  return undefined
}

/** A mistake is one line, whatever the name in it was made of. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
