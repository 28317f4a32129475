/** Parses the text of a configuration file into a checked Config, or reports every mistake with line and column. */
import type { Environment } from '../environment.ts'
import { configSchema } from '../sections/file.ts'
import { knownKeys } from '../sections/setting-paths.ts'
import { inlineSecrets } from '../checks/inline-secrets.ts'
import { translateNames } from '../litellm/translate-names.ts'
import { credentialsOf, withCredentials, withoutSpare } from './credentials.ts'
import { pathInFile } from './paths.ts'
import { validParts } from './valid-parts.ts'
import type { PartialConfig } from './valid-parts.ts'
import type { Config } from '../sections/file.ts'
import { guardrailFindings } from '../checks/guardrail-checks.ts'
import { toolServerFindings } from '../checks/tool-server-checks.ts'
import { takePrices, withPrices } from '../checks/price-entries.ts'
import type { WithoutPrices } from '../checks/price-entries.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { secretReferencesIn } from '../secret-sources.ts'
import { nothingRead, oneLine, locationIn, readingOf } from './reading.ts'
import type { ConfigReading, Finding, SourceLocation, ReadFile, ReadOptions } from './reading.ts'
import { ownEnvironment, wholeReference, withEnvironment } from './references.ts'
import { findingsOf } from '../checks/schema-findings.ts'
import { readYaml } from './yaml-document.ts'

/** Sections whose secrets are read anew from time to time. */
const sectionsWithSecrets = ['model_list', 'credential_list', 'mcp_servers']

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
  const { findings, warnings, unset, unread } = noFindings()
  const names = translateNames(yaml.value, { isFile: !sent, findings, warnings, keysAt: knownKeys })
  const known = withPlainValues(names.isPeers ? withLitellmMasterKey(names.value, environment) : names.value)
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
  const checked = configSchema().safeParse(unpriced.value)
  const issues = checked.success ? [] : checked.error.issues.flatMap(issue => findingsOf(issue, resolved))
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
  const { config, kept }: Pick<PartialConfig, 'config' | 'kept'> = isWhole ? { config: checked.data } : valid()
  findings.push(...findingsOfParts({ config, kept }, findings))
  if (!anyVariables) findings.push(...unsetVariables)
  if (!sent) warnings.push(...inlineSecrets(known))
  const locationOf = (finding: Finding): SourceLocation =>
    finding.offset === undefined
      ? locationIn(locations, { ...finding, path: names.writtenPath(finding.path) })
      : locationAt(finding.offset)
  const line = (finding: Finding) =>
    oneLine(`${locationOf(finding).text} ${names.writtenPath(finding.path).join('.') || 'file'}: ${finding.message}`)
  // LiteLLM reads the last one without a word, so that such a file means the same here.
  const isAllowed = (finding: Finding) => names.isPeers && finding.isRepeated === true
  warnings.push(...yaml.findings.filter(isAllowed))
  const all = [...yaml.findings.filter(one => !isAllowed(one)), ...findings]
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
    references: isObject(yaml.value)
      ? secretReferencesIn(sectionsWithSecrets.map(name => (yaml.value as Record<string, unknown>)[name]))
      : [],
    locations,
    written: names.written,
  }
}

/** `unread` = references to secrets that are not read here. */
const noFindings = (): Record<'findings' | 'warnings' | 'unset' | 'unread', Finding[]> => ({
  findings: [],
  warnings: [],
  unset: [],
  unread: [],
})

/** What the schema cannot see. What is missing because it was left out as invalid is no mistake of its own. */
function findingsOfParts(
  { config, kept }: Pick<PartialConfig, 'config' | 'kept'>,
  known: readonly Finding[],
): Finding[] {
  const found = [...guardrailFindings(config), ...toolServerFindings(config)]
  const isInvalid = ({ path }: Finding) => known.some(one => path.every((part, at) => one.path[at] === part))
  return found.map(one => ({ ...one, path: pathInFile(kept, one.path) })).filter(one => !isInvalid(one))
}

function complete(config: Config, unpriced: WithoutPrices): PartialConfig {
  const entries = config.model_list?.map((entry, at) => ({ at, name: entry.model_name, entry, removed: [] }))
  return withOwnPrices({ config, entries }, unpriced)
}

/** Puts the prices of the entries back. */
function withOwnPrices({ entries, ...rest }: PartialConfig, { taken }: WithoutPrices): PartialConfig {
  if (!entries) return { ...rest, entries }
  return {
    ...rest,
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
function withLitellmMasterKey(value: unknown, { LITELLM_MASTER_KEY: given }: Environment): unknown {
  if (!given || !isObject(value)) return value
  const general = value.general_settings ?? {}
  if (!isObject(general) || 'master_key' in general) return value
  return { ...value, general_settings: { ...general, master_key: `${wholeReference}LITELLM_MASTER_KEY` } }
}
