/** A configuration file's text into a checked Config, or every mistake in it with line and column. */
import type { z } from 'zod'
import { configSchema, notSupportedYet, otherNames } from './schema.ts'
import { salvage } from './valid-parts.ts'
import type { SalvagedConfig } from './valid-parts.ts'
import type { Config } from './schema.ts'
import { wantedBy } from '../core/schema-problems.ts'
import { isObject } from '../lib/json/json-values.ts'
import { closestMatch } from '../lib/closest-match.ts'
import { offsetOf, oneLine, readOutline } from './outline.ts'
import type { Finding, Path } from './outline.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What a file says, as far as it can be read. */
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

/** Reads, resolves references to the environment, checks. `file` is only for messages. */
export function readConfig(
  text: string,
  { file, environment }: { file: string; environment: Environment },
): ConfigReading {
  const outline = readOutline(text, file)
  if (!('document' in outline)) return failed(outline)
  const { document, place } = outline
  const findings: Finding[] = []
  const warned: Finding[] = []
  const unset: Finding[] = []
  const named = renamed(outline.value, [], findings)
  const known = withoutUnsupported(named, [], warned)
  const resolved = withEnvironment(known, [], { environment: ownEnvironment(known, environment), findings: unset })
  const checked = configSchema.safeParse(resolved)
  if (!checked.success) {
    const issues = checked.error.issues.flatMap(issue => fromIssue(issue, resolved))
    // What stands for a variable that is not set is nobody's value.
    findings.push(...issues.filter(({ path }) => !unset.some(one => one.path.every((part, at) => path[at] === part))))
  }
  findings.push(...unset)
  const offset = (finding: Finding) => offsetOf(document, finding, namesOf)
  const where = (finding: Finding) => place(offset(finding))
  const shown = (finding: Finding) =>
    oneLine(`${where(finding)} ${finding.path.join('.') || 'file'}: ${finding.message}`)
  const all = [...outline.findings, ...findings]
  return {
    // Of a key that stands twice the last value is checked like any other.
    ...(checked.success && all.length === 0
      ? whole(checked.data)
      : salvage(
          resolved,
          findings.map(finding => finding.path),
        )),
    mistakes: all.sort((a, b) => offset(a) - offset(b)).map(shown),
    warnings: warned.map(shown),
    lineOf: path => where({ path, message: '' }).replace(/:\d+$/, ''),
    placeOf: path => where({ path, message: '' }),
  }
}

function namesOf(key: string): string[] {
  return Object.entries(otherNames).flatMap(([other, ours]) => (ours === key ? [other] : []))
}

function whole(config: Config): SalvagedConfig {
  return { config, entries: config.model_list?.map((entry, at) => ({ at, name: entry.model_name, entry, lost: [] })) }
}

function failed(mistakes: readonly string[]): ConfigReading {
  return { config: undefined, entries: undefined, mistakes, warnings: [], lineOf: () => '', placeOf: () => '' }
}

/** The peer's names as ours. Both at once are a mistake. */
function renamed(value: unknown, path: Path, findings: Finding[]): unknown {
  if (Array.isArray(value)) return value.map((one, at) => renamed(one, [...path, at], findings))
  if (!isObject(value)) return value
  const out: Record<string, unknown> = {}
  for (const [key, one] of Object.entries(value)) {
    // Names in free maps (headers, environment) are the user's own.
    const ours = path.length <= 3 && Object.hasOwn(otherNames, key) && !isFreeMap(path) ? otherNames[key]! : key
    if (Object.hasOwn(out, ours))
      findings.push({ path: [...path, key], message: `is the same as \`${ours}\`; keep one`, atKey: true })
    out[ours] = renamed(one, [...path, key], findings)
  }
  return out
}

function isFreeMap(path: Path): boolean {
  const last = path.at(-1)
  return (
    last === 'environment_variables' || last === 'extra_headers' || last === 'headers' || last === 'model_group_alias'
  )
}

function withoutUnsupported(value: unknown, path: Path, warned: Finding[]): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withoutUnsupported(one, [...path, at], warned))
  if (!isObject(value)) return value
  const out: Record<string, unknown> = {}
  for (const [key, one] of Object.entries(value)) {
    const pattern = [...path.map(part => (typeof part === 'number' ? '*' : part)), key].join('.')
    if (notSupportedYet.has(pattern))
      warned.push({ path: [...path, key], message: 'is not supported yet and has no effect', atKey: true })
    else out[key] = withoutUnsupported(one, [...path, key], warned)
  }
  return out
}

/** The variables of the file, which may be made of the process's own; those win. */
function ownEnvironment(value: unknown, environment: Environment): Environment {
  const given = isObject(value) && isObject(value.environment_variables) ? value.environment_variables : {}
  // What is wrong in them is found where they stand.
  const own = withEnvironment(given, [], { environment, findings: [] }) as Record<string, unknown>
  const texts = Object.entries(own).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return { ...Object.fromEntries(texts), ...environment }
}

interface Resolving {
  readonly environment: Environment
  readonly findings: Finding[]
}

const wholeReference = 'os.environ/'

/** `os.environ/NAME` as a whole value, `${NAME}` and `${NAME:-default}` anywhere in one. */
function withEnvironment(value: unknown, path: Path, resolving: Resolving): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withEnvironment(one, [...path, at], resolving))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, withEnvironment(one, [...path, key], resolving)]),
    )
  if (typeof value !== 'string') return value
  const wrong = (message: string): string => {
    resolving.findings.push({ path, message })
    return 'unset'
  }
  const take = (name: string, otherwise: string | undefined): string => {
    const found = (Object.hasOwn(resolving.environment, name) && resolving.environment[name]) || otherwise
    if (found !== undefined) return found
    const remedy = plainName.test(name) ? `set it, or write \${${name}:-default}` : 'set it'
    return wrong(`the environment variable ${name} is not set; ${remedy}`)
  }
  if (value.startsWith(wholeReference)) {
    const name = value.slice(wholeReference.length)
    // Not shown: it may be what should stand in the variable.
    if (!/^[^\s=]+$/.test(name))
      return wrong(
        '`os.environ/` must be followed by the name of an environment variable, which has no blanks, as os.environ/NAME',
      )
    return take(name, undefined)
  }
  // Also `$NAME`, as shells write it: nobody would fill it in.
  if (/^\$[A-Z][A-Z0-9_]*$/.test(value) && secretName.test(String(path.at(-1))))
    return wrong(
      `names a variable as shells do, which is not filled in here; write \${${value.slice(1)}} or os.environ/${value.slice(1)}`,
    )
  // Sent to a provider as it stands, a reference that is not closed would be a wrong key and look like one.
  if (value.replace(reference, '').includes('${'))
    wrong('`${` begins the name of an environment variable; write ${NAME} or ${NAME:-default}')
  return value.replace(reference, (_, name: string, otherwise: string | undefined) => take(name, otherwise))
}

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function fromIssue(issue: z.core.$ZodIssue, root: unknown): Finding[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => {
      const near = closestMatch(key, knownKeys(path))
      return { path: [...path, key], message: `unknown key${near ? `, did you mean \`${near}\`?` : ''}`, atKey: true }
    })
  // The names of headers and variables.
  if (issue.code === 'invalid_key') return issue.issues.map(one => ({ path, message: one.message, atKey: true }))
  const wanted = wantedBy(issue)?.replace('an object', 'a map').replace('an array', 'a list')
  const got = valueAt(root, path)
  if (got === undefined && wanted !== undefined) return [{ path, message: `is missing; give ${wanted}` }]
  const said = wanted === undefined ? issue.message : `must be ${wanted}`
  const quotes = wanted === 'a string' && ['number', 'boolean'].includes(typeof got) ? '; write it in quotes' : ''
  return [{ path, message: `${said}${shownValue(issue, path, got)}${quotes}` }]
}

const shownCharactersMax = 60
const secretName = /key|secret|(?<!per_\w*)token$|^proxy$|credentials|password|headers$|url$|base$|endpoint$/
/** Maps whose keys are the operator's own. */
const secretMaps: ReadonlySet<string | number> = new Set([
  'extra_headers',
  'environment_variables',
  'vertex_credentials',
])

/** `; got "heavy"`: never what may be a secret, by itself or as a part of a map or of a text that should have been a map. */
function shownValue(issue: z.core.$ZodIssue, path: Path, got: unknown): string {
  if (got === undefined) return ''
  const isText = typeof got === 'string'
  const wantsMany = issue.code === 'invalid_type' && ['object', 'record', 'array'].includes(issue.expected)
  const isSecret = secretName.test(String(path.at(-1))) || path.some(part => secretMaps.has(part))
  const isHidden = isSecret || (typeof got === 'object' && got !== null) || (isText && wantsMany)
  if (!isHidden) return `; got ${isText ? JSON.stringify(got.slice(0, shownCharactersMax)) : String(got)}`
  return isText && issue.code !== 'invalid_type' ? '' : `; got ${kindOf(got)}`
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return value === null ? 'nothing' : typeof value === 'object' ? 'a map' : `a ${typeof value}`
}

function valueAt(root: unknown, path: Path): unknown {
  let at: unknown = root
  for (const part of path)
    at = typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[part] : undefined
  return at
}

/** The keys that the schema knows at a path. */
function knownKeys(path: Path): string[] {
  let schema: unknown = configSchema
  for (const part of path) {
    schema = unwrapped(schema)
    const { shape, element, valueType } = schema as {
      shape?: Record<string, unknown>
      element?: unknown
      valueType?: unknown
    }
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
