/** Parses the text of a configuration file into a checked Config, or reports every mistake with line and column. */
import type { z } from 'zod'
import type { Environment } from '../environment.ts'
import { configSchema } from './schema.ts'
import { knownKeys } from './schema-keys.ts'
import { inlineSecrets } from './inline-secrets.ts'
import { translateNames } from './translate-names.ts'
import { credentialsOf, withCredentials, withoutSpare } from './credentials.ts'
import { validParts } from './valid-parts.ts'
import type { PartialConfig } from './valid-parts.ts'
import type { Config } from './schema.ts'
import { guardrailFindings } from './guardrail-checks.ts'
import { takePrices, withPrices } from './price-entries.ts'
import type { WithoutPrices } from './price-entries.ts'
import { wantedBy } from '../../core/schema-problems.ts'
import { isObject, valueAt } from '../../lib/json/json-values.ts'
import { isSecretReference, secretReferencesIn } from '../secret-sources.ts'
import { secretFields } from './secret-fields.ts'
import { closestMatch } from '../../lib/closest-match.ts'
import { nothingRead, oneLine, locationIn, readingOf } from './reading.ts'
import type { ConfigReading, Finding, Path, SourceLocation, ReadFile, ReadOptions } from './reading.ts'
import { readYaml } from './yaml-document.ts'

/** Parses, resolves references to the environment, checks the schema. */
export function readConfig(text: string, options: ReadOptions): ConfigReading {
  return readingOf(readFile(text, options))
}

/** The same as plain data. */
export function readFile(
  text: string,
  { file, environment, anyVariables = false, sent, secrets }: ReadOptions,
): ReadFile {
  const yaml = readYaml(text, file)
  if (!('locations' in yaml)) return { ...nothingRead, mistakes: yaml }
  const { locations, locationAt } = yaml
  const findings: Finding[] = []
  const warnings: Finding[] = []
  const unset: Finding[] = []
  /** References to secrets that are not read here. */
  const unread: Finding[] = []
  const names = translateNames(yaml.value, { isFile: !sent, findings, warnings, keysAt: knownKeys })
  const known = withPlainValues(names.isPeers ? withPeersMasterKey(names.value, environment) : names.value)
  const withVariables = withEnvironment(known, [], {
    environment: ownEnvironment(known, environment),
    findings: unset,
    secrets: secrets && { known: secrets, findings },
    unread,
  })
  const { needed: unsetVariables, spare } = withoutSpare(unset, known)
  warnings.push(...spare)
  const credentials = credentialsOf(withVariables, new Set(spare.map(({ path }) => path[1])))
  const resolved = withCredentials(withVariables, new Map([...(sent?.credentials ?? []), ...credentials]), findings)
  const unpriced = takePrices(resolved)
  const checked = configSchema.safeParse(unpriced.value)
  const issues = checked.success ? [] : checked.error.issues.flatMap(issue => fromIssue(issue, resolved))
  // Placeholders of unset variables are not checked.
  const unfilled = [...unsetVariables, ...unread]
  const isSet = ({ path }: Finding) => !unfilled.some(one => one.path.every((part, at) => path[at] === part))
  findings.push(...[...unpriced.findings, ...issues].filter(isSet))
  const isWhole = checked.success && unfilled.length === 0
  const valid = () =>
    validParts(
      unpriced.value,
      [...findings, ...unfilled].map(finding => finding.path),
    )
  findings.push(...guardrailFindings(isWhole ? checked.data : valid().config))
  if (!anyVariables) findings.push(...unsetVariables)
  if (!sent) warnings.push(...inlineSecrets(known))
  const locationOf = (finding: Finding): SourceLocation =>
    finding.offset === undefined
      ? locationIn(locations, { ...finding, path: names.writtenPath(finding.path) })
      : locationAt(finding.offset)
  const line = (finding: Finding) =>
    oneLine(`${locationOf(finding).text} ${names.writtenPath(finding.path).join('.') || 'file'}: ${finding.message}`)
  const all = [...yaml.findings, ...findings]
  return {
    // A duplicate key is an error, but its last value is checked like any other.
    ...(isWhole && all.length === 0 ? complete(checked.data, unpriced) : withOwnPrices(valid(), unpriced)),
    isPeers: names.isPeers,
    mistakes: all.sort((a, b) => locationOf(a).offset - locationOf(b).offset).map(line),
    warnings: warnings.map(line),
    problems: all.map(({ path, message }) => ({ path: names.writtenPath(path), message })),
    notices: warnings.map(({ path, message }) => ({ path: names.writtenPath(path), message })),
    named: known,
    credentials,
    references: isObject(yaml.value) ? secretReferencesIn([yaml.value.model_list, yaml.value.credential_list]) : [],
    locations,
    written: names.written,
  }
}

function complete(config: Config, unpriced: WithoutPrices): PartialConfig {
  const entries = config.model_list?.map((entry, at) => ({ at, name: entry.model_name, entry, removed: [] }))
  return withOwnPrices({ config, entries }, unpriced)
}

/** Puts the prices of the entries back. */
function withOwnPrices({ config, entries }: PartialConfig, { taken }: WithoutPrices): PartialConfig {
  if (!entries) return { config, entries }
  return {
    config,
    entries: entries.map(one => ({ ...one, entry: one.entry && withPrices(one.entry, taken.get(one.at)) })),
  }
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

/** LiteLLM takes the master key from its variable where the file has none. */
function withPeersMasterKey(value: unknown, { LITELLM_MASTER_KEY: given }: Environment): unknown {
  if (!given || !isObject(value)) return value
  const general = value.general_settings ?? {}
  if (!isObject(general) || 'master_key' in general) return value
  return { ...value, general_settings: { ...general, master_key: `${wholeReference}LITELLM_MASTER_KEY` } }
}

/** The process environment over `environment_variables` of the file, which may refer to the former. */
function ownEnvironment(value: unknown, environment: Environment): Environment {
  const given = isObject(value) && isObject(value.environment_variables) ? value.environment_variables : {}
  // Mistakes in them are reported at their own location.
  const own = withEnvironment(given, [], { environment, findings: [] }) as Record<string, unknown>
  const texts = Object.entries(own).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return { ...Object.fromEntries(texts), ...environment }
}

interface Resolution {
  readonly environment: Environment
  readonly findings: Finding[]
  /** Absent = secrets that are kept elsewhere are not read. */
  readonly secrets?: { readonly known: NonNullable<ReadOptions['secrets']>; readonly findings: Finding[] } | undefined
  readonly unread?: Finding[]
}

/** References to secrets stand in the secret fields of models and credentials; elsewhere such a text is none. */
const isSecretPlace = (path: Path): boolean =>
  ((path[0] === 'model_list' && path[2] === 'proxy_params') ||
    (path[0] === 'credential_list' && path[2] === 'credential_values')) &&
  secretFields.has(String(path[3]))

/** The secret that a reference stands for, or a text in its place. */
function readSecret(reference: string, path: Path, { secrets, unread }: Resolution): string {
  const known = secrets?.known.get(reference)
  if (known && 'value' in known) return known.value
  const shown = reference.startsWith('command/') ? 'the output of the command' : `\`${reference}\``
  const message = known
    ? `${shown} cannot be read: ${known.problem}`
    : `${shown} is not read yet; try again in a moment`
  if (secrets) secrets.findings.push({ path, message })
  unread?.push({ path, message })
  return 'unset'
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
  if (isSecretReference(value) && isSecretPlace(path)) return readSecret(value, path, resolution)
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
