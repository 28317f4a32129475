/** A configuration file's text into a checked Config, or every mistake in it with line and column. */
import { isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import type { Document, Node, Pair } from 'yaml'
import type { z } from 'zod'
import { configSchema, notSupportedYet, otherNames } from './schema.ts'
import { salvage } from './salvage.ts'
import type { SalvagedConfig } from './salvage.ts'
import type { Config } from './schema.ts'
import { nearest } from './nearest.ts'

const textBytesMax = 5 * 1024 * 1024

export interface ConfigReading {
  /** Without what is wrong in it; undefined = the text has no outline at all. */
  readonly config: Config | undefined
  /** The model list; undefined = there is none; null = it is no list. */
  readonly entries: SalvagedConfig['entries']
  /** `file:line:col path: message`, in order of the file. */
  readonly mistakes: readonly string[]
  readonly warnings: readonly string[]
  /** Where a value stands: `config.yaml:12`. */
  lineOf(path: readonly (string | number)[]): string
  /** The same to the column: `config.yaml:12:5`. */
  placeOf(path: readonly (string | number)[]): string
}

interface Finding {
  readonly path: readonly (string | number)[]
  readonly message: string
  /** The key is at fault, not its value. */
  readonly atKey?: boolean
}

/** Reads, resolves references to the environment, checks. `file` is only for messages. */
export function readConfig(
  text: string,
  { file, environment }: { file: string; environment: Readonly<Record<string, string | undefined>> },
): ConfigReading {
  if (Buffer.byteLength(text) > textBytesMax)
    return failed(`${file}:1:1 the file is larger than ${textBytesMax} bytes`)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, merge: true })
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${line}:${col}`
  }
  if (document.errors.length > 0)
    return { ...failed(''), mistakes: document.errors.map(error => `${place(error.pos[0])} ${error.message}`) }
  const endless = endlessAliases(document)
  if (endless.length > 0)
    return { ...failed(''), mistakes: endless.map(offset => `${place(offset)} an alias inside of what it stands for has no end; write it out`) }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch (error) {
    return failed(`${file}:1:1 ${(error as Error).message}`)
  }
  const findings: Finding[] = []
  const warned: Finding[] = []
  const named = renamed(value, [], findings)
  const known = withoutUnsupported(named, [], warned)
  const resolved = withEnvironment(known, [], { environment: ownEnvironment(known, environment), findings })
  const checked = configSchema.safeParse(resolved)
  if (!checked.success) findings.push(...checked.error.issues.flatMap(issue => fromIssue(issue, resolved)))
  const where = (finding: Finding) => place(offsetOf(document, finding))
  const shown = (finding: Finding) => `${where(finding)} ${finding.path.join('.') || 'file'}: ${finding.message}`
  return {
    ...(checked.success && findings.length === 0 ? whole(checked.data) : salvage(resolved, findings.map(finding => finding.path))),
    mistakes: [...findings].sort((a, b) => offsetOf(document, a) - offsetOf(document, b)).map(shown),
    warnings: warned.map(shown),
    lineOf: path => where({ path, message: '' }).replace(/:\d+$/, ''),
    placeOf: path => where({ path, message: '' }),
  }
}

function whole(config: Config): SalvagedConfig {
  return { config, entries: config.model_list?.map((entry, at) => ({ at, name: entry.model_name, entry, lost: [] })) }
}

/** Where an alias stands inside of its own anchor: whoever follows it never comes to an end. */
function endlessAliases(document: Document.Parsed): number[] {
  const offsets: number[] = []
  visit(document, {
    Alias(_key, alias, above) {
      const meant = alias.resolve(document)
      if (meant && above.includes(meant)) offsets.push(alias.range?.[0] ?? 0)
    },
  })
  return offsets
}

function failed(mistake: string): ConfigReading {
  return { config: undefined, entries: undefined, mistakes: [mistake], warnings: [], lineOf: () => '', placeOf: () => '' }
}

type Path = readonly (string | number)[]
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The peer's names as ours. Both at once are a mistake. */
function renamed(value: unknown, path: Path, findings: Finding[]): unknown {
  if (Array.isArray(value)) return value.map((one, at) => renamed(one, [...path, at], findings))
  if (!isObject(value)) return value
  const out: Record<string, unknown> = {}
  for (const [key, one] of Object.entries(value)) {
    // Names in free maps (headers, environment) are the user's own.
    const ours = path.length <= 3 && Object.hasOwn(otherNames, key) && !isFreeMap(path) ? otherNames[key]! : key
    if (Object.hasOwn(out, ours)) findings.push({ path: [...path, key], message: `is the same as \`${ours}\`; keep one`, atKey: true })
    out[ours] = renamed(one, [...path, key], findings)
  }
  return out
}

function isFreeMap(path: Path): boolean {
  const last = path.at(-1)
  return last === 'environment_variables' || last === 'extra_headers' || last === 'headers' || last === 'model_group_alias'
}

function withoutUnsupported(value: unknown, path: Path, warned: Finding[]): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withoutUnsupported(one, [...path, at], warned))
  if (!isObject(value)) return value
  const out: Record<string, unknown> = {}
  for (const [key, one] of Object.entries(value)) {
    const pattern = [...path.map(part => (typeof part === 'number' ? '*' : part)), key].join('.')
    if (notSupportedYet.has(pattern)) warned.push({ path: [...path, key], message: 'is not supported yet and has no effect', atKey: true })
    else out[key] = withoutUnsupported(one, [...path, key], warned)
  }
  return out
}

function ownEnvironment(value: unknown, environment: Readonly<Record<string, string | undefined>>) {
  const own = isObject(value) && isObject(value.environment_variables) ? value.environment_variables : {}
  const texts = Object.entries(own).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return { ...Object.fromEntries(texts), ...environment }
}

interface Resolving {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly findings: Finding[]
}

/** `os.environ/NAME` as a whole value, `${NAME}` and `${NAME:-default}` anywhere in one. */
function withEnvironment(value: unknown, path: Path, resolving: Resolving): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withEnvironment(one, [...path, at], resolving))
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withEnvironment(one, [...path, key], resolving)]))
  if (typeof value !== 'string') return value
  const take = (name: string, otherwise: string | undefined): string => {
    const found = resolving.environment[name] || otherwise
    if (found === undefined) {
      resolving.findings.push({ path, message: `the environment variable ${name} is not set; set it, or write \${${name}:-default}` })
      return 'unset'
    }
    return found
  }
  if (value.startsWith('os.environ/')) return take(value.slice('os.environ/'.length), undefined)
  // Sent to a provider as it stands, a reference that is not closed would be a wrong key and look like one.
  if (value.replace(reference, '').includes('${'))
    resolving.findings.push({ path, message: '`${` begins the name of an environment variable; write ${NAME} or ${NAME:-default}' })
  return value.replace(reference, (_, name: string, otherwise: string | undefined) => take(name, otherwise))
}

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function fromIssue(issue: z.core.$ZodIssue, root: unknown): Finding[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => {
      const near = nearest(key, knownKeys(path))
      return { path: [...path, key], message: `unknown key${near ? `, did you mean \`${near}\`?` : ''}`, atKey: true }
    })
  const got = valueAt(root, path)
  const shown = got === undefined ? '' : `; got ${typeof got === 'string' ? JSON.stringify(got.slice(0, 60)) : JSON.stringify(got)?.slice(0, 60)}`
  const secret = /key|secret|token$/.test(String(path.at(-1)))
  const [, missing] = /^Invalid input: expected (\w+), received undefined$/.exec(issue.message) ?? []
  if (missing !== undefined) return [{ path, message: `is missing; give ${/^[aeiou]/.test(missing) ? 'an' : 'a'} ${missing}` }]
  return [{ path, message: `${issue.message.replace(/^Invalid input: /, '')}${secret ? '' : shown}` }]
}

function valueAt(root: unknown, path: Path): unknown {
  let at: unknown = root
  for (const part of path) at = typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[part] : undefined
  return at
}

/** The keys that the schema knows at a path. */
function knownKeys(path: Path): string[] {
  let schema: unknown = configSchema
  for (const part of path) {
    schema = unwrapped(schema)
    const { shape, element, valueType } = schema as { shape?: Record<string, unknown>; element?: unknown; valueType?: unknown }
    schema = typeof part === 'number' ? element : (shape?.[part] ?? valueType)
  }
  const { shape } = (unwrapped(schema) ?? {}) as { shape?: Record<string, unknown> }
  return Object.keys(shape ?? {})
}

function unwrapped(schema: unknown): unknown {
  let at = schema as { unwrap?: () => unknown; shape?: unknown; element?: unknown } | undefined
  while (at && typeof at.unwrap === 'function' && !at.shape && !at.element) at = at.unwrap() as typeof at
  return at
}

/** Where the value at `path` starts; as deep as the document goes. */
function offsetOf(document: Document.Parsed, { path, atKey }: Finding): number {
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

function findPair(items: readonly Pair[], name: string): Pair | undefined {
  const named = (key: string) => items.find(item => isPair(item) && isScalar(item.key) && String(item.key.value) === key)
  const other = Object.entries(otherNames).find(([, ours]) => ours === name)
  return named(name) ?? (other && named(other[0]))
}
