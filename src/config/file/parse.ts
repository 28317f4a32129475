/** Parses the text of a configuration file into a checked Config, or reports every mistake with line and column. */
import type { z } from 'zod'
import type { Environment } from '../environment.ts'
import { configSchema } from './schema.ts'
import { inlineSecrets } from './inline-secrets.ts'
import { readNames } from './written-names.ts'
import { validParts } from './valid-parts.ts'
import type { PartialConfig } from './valid-parts.ts'
import type { Config } from './schema.ts'
import { wantedBy } from '../../core/schema-problems.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { closestMatch } from '../../lib/closest-match.ts'
import { offsetOf, oneLine, readYaml } from './yaml-document.ts'
import type { Finding, Path } from './yaml-document.ts'

/** The valid content of a file, and its mistakes. */
export interface ConfigReading {
  /** Without the invalid parts; undefined = the text is not a YAML document. */
  readonly config: Config | undefined
  /** The model list; undefined = there is none; null = it is not a list. */
  readonly entries: PartialConfig['entries']
  /** `file:line:col path: message`, in the order of the file. */
  readonly mistakes: readonly string[]
  readonly warnings: readonly string[]
  /** The position of a value: `config.yaml:12`. */
  lineOf(path: readonly (string | number)[]): string
  /** The position with its column: `config.yaml:12:5`. */
  placeOf(path: readonly (string | number)[]): string
  /** The path in the names that the file uses: `litellm_settings.num_retries`. */
  writtenPath(path: readonly (string | number)[]): Path
}

interface ReadOptions {
  /** For messages. */
  readonly file: string
  readonly environment: Environment
  /** true = variables that are not set are no mistakes, and what refers to them is not checked. */
  readonly anyVariables?: boolean | undefined
}

/** Parses, resolves references to the environment, checks the schema. */
export function readConfig(text: string, { file, environment, anyVariables = false }: ReadOptions): ConfigReading {
  const yaml = readYaml(text, file)
  if (!('document' in yaml)) return unreadable(yaml)
  const { document, place } = yaml
  const findings: Finding[] = []
  const warnings: Finding[] = []
  const unsetVariables: Finding[] = []
  const names = readNames(yaml.value, { findings, warnings, keysAt: knownKeys })
  const known = withPlainValues(names.value)
  const resolved = withEnvironment(known, [], {
    environment: ownEnvironment(known, environment),
    findings: unsetVariables,
  })
  const checked = configSchema.safeParse(resolved)
  if (!checked.success) {
    const issues = checked.error.issues.flatMap(issue => fromIssue(issue, resolved))
    // Placeholders of unset variables are not checked.
    findings.push(
      ...issues.filter(({ path }) => !unsetVariables.some(one => one.path.every((part, at) => path[at] === part))),
    )
  }
  if (!anyVariables) findings.push(...unsetVariables)
  warnings.push(...inlineSecrets(known))
  const offset = (finding: Finding) => offsetOf(document, { ...finding, path: names.writtenPath(finding.path) })
  const where = (finding: Finding) => place(offset(finding))
  const line = (finding: Finding) =>
    oneLine(`${where(finding)} ${names.writtenPath(finding.path).join('.') || 'file'}: ${finding.message}`)
  const all = [...yaml.findings, ...findings]
  return {
    // A duplicate key is an error, but its last value is checked like any other.
    ...(checked.success && all.length === 0 && unsetVariables.length === 0
      ? complete(checked.data)
      : validParts(
          resolved,
          [...findings, ...unsetVariables].map(finding => finding.path),
        )),
    mistakes: all.sort((a, b) => offset(a) - offset(b)).map(line),
    warnings: warnings.map(line),
    lineOf: path => where({ path, message: '' }).replace(/:\d+$/, ''),
    placeOf: path => where({ path, message: '' }),
    writtenPath: path => names.writtenPath(path),
  }
}

function complete(config: Config): PartialConfig {
  return {
    config,
    entries: config.model_list?.map((entry, at) => ({ at, name: entry.model_name, entry, removed: [] })),
  }
}

function unreadable(mistakes: readonly string[]): ConfigReading {
  return { ...noReading, config: undefined, mistakes }
}

/** The reading of no file. */
export const noReading: ConfigReading = {
  config: {},
  entries: undefined,
  mistakes: [],
  warnings: [],
  lineOf: () => '',
  placeOf: () => '',
  writtenPath: path => path,
}

/**
 * A section whose lines are all comments is left out, but for the model list: a file that an editor has cut would offer
 * no models. Variables may be numbers and true or false, and without a value they are not set.
 */
function withPlainValues(value: unknown): unknown {
  if (!isObject(value)) return value
  const sections = Object.entries(value).filter(([key, section]) => section !== null || key === 'model_list')
  const given = Object.fromEntries(sections)
  if (!isObject(given.environment_variables)) return given
  const variables = Object.entries(given.environment_variables).filter(([, one]) => one !== null)
  const texts = variables.map(([name, one]) => [name, ['number', 'boolean'].includes(typeof one) ? String(one) : one])
  return { ...given, environment_variables: Object.fromEntries(texts) }
}

/** The process environment over `environment_variables` of the file, which may refer to the former. */
function ownEnvironment(value: unknown, environment: Environment): Environment {
  const given = isObject(value) && isObject(value.environment_variables) ? value.environment_variables : {}
  // Mistakes in them are reported at their own place.
  const own = withEnvironment(given, [], { environment, findings: [] }) as Record<string, unknown>
  const texts = Object.entries(own).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return { ...Object.fromEntries(texts), ...environment }
}

interface Resolution {
  readonly environment: Environment
  readonly findings: Finding[]
}

const wholeReference = 'os.environ/'

/** Resolves `os.environ/NAME` as a whole value, and `${NAME}` and `${NAME:-default}` anywhere in a value. */
function withEnvironment(value: unknown, path: Path, resolution: Resolution): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withEnvironment(one, [...path, at], resolution))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, withEnvironment(one, [...path, key], resolution)]),
    )
  if (typeof value !== 'string') return value
  const wrong = (message: string): string => {
    resolution.findings.push({ path, message })
    return 'unset'
  }
  const take = (name: string, otherwise: string | undefined): string => {
    const found = (Object.hasOwn(resolution.environment, name) && resolution.environment[name]) || otherwise
    if (found !== undefined) return found
    const remedy = plainName.test(name) ? `set it, or write \${${name}:-default}` : 'set it'
    return wrong(`the environment variable ${name} is not set; ${remedy}`)
  }
  if (value.startsWith(wholeReference)) {
    const name = value.slice(wholeReference.length)
    // The text is not shown: it may be the secret itself.
    if (!/^[^\s=]+$/.test(name))
      return wrong(
        '`os.environ/` must be followed by the name of an environment variable, which has no blanks, as ' +
          'os.environ/NAME',
      )
    return take(name, undefined)
  }
  // Shell syntax `$NAME` is not replaced, so the literal text would be used as the secret.
  if (/^\$[A-Z][A-Z0-9_]*$/.test(value) && secretName.test(String(path.at(-1))))
    return wrong(
      `names a variable as shells do, which is not filled in here; write \${${value.slice(1)}} or ` +
        `os.environ/${value.slice(1)}`,
    )
  // An unclosed reference would be sent to the provider as the key.
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
  // Invalid names of headers and variables.
  if (issue.code === 'invalid_key') return issue.issues.map(one => ({ path, message: one.message, atKey: true }))
  const wanted = wantedBy(issue)?.replace('an object', 'a map').replace('an array', 'a list')
  const got = valueAt(root, path)
  if (got === undefined && wanted !== undefined) return [{ path, message: `is missing; give ${wanted}` }]
  const message = wanted === undefined ? issue.message : `must be ${wanted}`
  const quotes = wanted === 'a string' && ['number', 'boolean'].includes(typeof got) ? '; write it in quotes' : ''
  return [{ path, message: `${message}${shownValue(issue, path, got)}${quotes}` }]
}

const shownCharactersMax = 60
const secretName = /key|secret|(?<!per_\w*)token$|^proxy$|credentials|password|headers$|url$|base$|endpoint$/
/** Maps with the operator's own keys. */
const secretMaps: ReadonlySet<string | number> = new Set([
  'extra_headers',
  'environment_variables',
  'vertex_credentials',
])

/** Formats `; got "heavy"`. Values that may be secrets are not shown, nor texts where a map is expected. */
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

/** The keys that the schema has at a path. */
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
