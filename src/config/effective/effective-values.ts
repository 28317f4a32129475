/** What holds, setting by setting, and where each value comes from: for `GET /config/effective` and `config print`. */
import { dirname, resolve } from 'node:path'
import { secretMask } from '../../core/objects/configured-objects.ts'
import { settingGroups } from '../../core/effective-values.ts'
import type { EffectiveValue, SettingGroup, SettingSource } from '../../core/effective-values.ts'
import type { Environment } from '../environment.ts'
import type { ServeOptions } from '../serve-options.ts'
import { providers } from '../../providers/index.ts'
import { readConfig } from '../reading/parse.ts'
import { noReading } from '../reading/reading.ts'
import type { ConfigReading } from '../reading/reading.ts'
import { settingKeys } from '../sections/schema-keys.ts'
import { cacheDefaults, defaultValues } from './defaults.ts'
import { isSecretKey, maskedValue } from './masked.ts'
import { fillingVariables, variables, winningVariables } from './variables.ts'
import type { Variable } from './variables.ts'
import { valueAt } from '../../lib/json/json-values.ts'

/** What decides on the value of a setting: the file, variables, flags, and what was sent by API. */
export interface EffectiveInput {
  /** Of the configuration file as it is in use; undefined = there is none. */
  readonly text: string | undefined
  readonly options: Omit<ServeOptions, 'policies' | 'readFile'>
  /** The keys of the file that were set by API, with their values. */
  readonly sent: ReadonlyMap<string, unknown>
}

const dataDirectoryDefault = '.modelgate'

/** Lists of the file, which have pages and commands of their own. */
const lists: ReadonlySet<string> = new Set(['model_list', 'credential_list', 'guardrails'])

/** The key that counts where another is left out. */
const sameAs: Readonly<Record<string, string>> = {
  'router_settings.num_retries': 'settings.num_retries',
  'router_settings.timeout': 'settings.request_timeout',
  'router_settings.fallbacks': 'settings.fallbacks',
  'router_settings.context_window_fallbacks': 'settings.context_window_fallbacks',
  'router_settings.content_policy_fallbacks': 'settings.content_policy_fallbacks',
  'router_settings.default_fallbacks': 'settings.default_fallbacks',
}
/** They are listed under the key that wins. */
const otherNames: ReadonlySet<string> = new Set(Object.values(sameAs))

/** The first that matches is the group of a key. */
const groupPatterns: readonly (readonly [SettingGroup, RegExp])[] = [
  ['mail', /alert_to_|key_reminders/],
  [
    'limits',
    /provider_budget_config|budget|default_internal_user|max_key|key_rotation|rate_limit|limits_without|timezone/,
  ],
  ['routing', /^router_settings|^settings\.(drop_params|forward_unknown)|_model$|general_settings\.proxy$/],
  ['sign-in', /\.(sso|enable_jwt_auth|jwt_auth|session_|trusted_proxies)/],
  ['retention', /retention|max_stored/],
  ['cache', /^settings\.cache/],
  ['prices', /^prices\.|\.cost_/],
  ['agents', /\.(agent_|managed_settings)/],
]

/** By group, each in the order of the file's schema, variables last. */
export function effectiveValues(input: EffectiveInput): EffectiveValue[] {
  const { text, options } = input
  const file = options.configFile ?? 'config.yaml'
  const reading =
    text === undefined ? noReading : readConfig(text, { file, environment: options.environment, anyVariables: true })
  const found = new Finder(input, reading)
  const keys = settingKeys().filter(({ path }) => !lists.has(path[0]!) && !otherNames.has(path.join('.')))
  const values = [
    ...keys.map(({ path, description }) => found.ofKey(path, description)),
    ...[...variables, ...keyVariables().map(ofProvider)].flatMap(one => found.ofVariable(one)),
  ]
  const rank = ({ group }: EffectiveValue) => settingGroups.indexOf(group)
  return values.toSorted((one, other) => rank(one) - rank(other))
}

/** What keys of providers are read from. */
const keyVariables = (): string[] => [...new Set([...providers.values()].flatMap(one => one.apiKeyEnv))]

const ofProvider = (name: string): Variable => ({
  name,
  group: 'providers',
  description: 'The key of a provider, for models that have none of their own.',
  isSecret: true,
  isRare: true,
  isInFile: true,
})

type ValueWithSource = Pick<EffectiveValue, 'value' | 'source' | 'where' | 'reference'>

const withSource = (source: SettingSource, value: unknown, where: string | null = null): ValueWithSource => ({
  source,
  value,
  where,
  reference: null,
})

class Finder {
  readonly #input: EffectiveInput
  readonly #reading: ConfigReading
  readonly #environment: Environment

  constructor(input: EffectiveInput, reading: ConfigReading) {
    this.#input = input
    this.#reading = reading
    this.#environment = input.options.environment
  }

  ofKey(path: readonly string[], description: string): EffectiveValue {
    const key = path.join('.')
    const { value, ...found } = this.#find(path, key)
    const group = groupPatterns.find(([, pattern]) => pattern.test(key))?.[0] ?? 'general'
    const isSecret = isSecretKey(key)
    return { key, group, value: value === null ? null : maskedValue(key, value), ...found, isSecret, description }
  }

  #find(path: readonly string[], key: string): ValueWithSource {
    const { options, sent } = this.#input
    const other = sameAs[key]?.split('.')
    const found =
      this.#ofVariables(key in winningVariables ? [winningVariables[key]!] : []) ??
      this.#ofFile(path) ??
      (other && this.#ofFile(other)) ??
      this.#ofVariables(fillingVariables[key] ?? [])
    if (found) return found
    if (sent.has(key)) return withSource('api', sent.get(key))
    if (key === 'general_settings.master_key') return withSource('stored', secretMask)
    if (key === 'general_settings.database_url') return withSource('default', options.databaseUrl)
    const isCached = valueAt(this.#reading.config, ['settings', 'cache']) === true
    return withSource('default', defaultValues[key] ?? (isCached ? cacheDefaults[key] : undefined) ?? null)
  }

  #ofFile(path: readonly string[]): ValueWithSource | undefined {
    const value = valueAt(this.#reading.config, path)
    if (value === undefined) return undefined
    const written = valueAt(this.#reading.named, path)
    const reference = typeof written === 'string' && wholeReference.test(written) ? written : null
    return { source: 'file', value, where: this.#reading.lineOf(path), reference }
  }

  #ofVariables(names: readonly string[]): ValueWithSource | undefined {
    const name = names.find(one => Boolean(this.#environment[one]))
    return name === undefined ? undefined : withSource('environment', this.#environment[name], name)
  }

  /** Empty = it is not listed. */
  ofVariable(variable: Variable): EffectiveValue[] {
    const { name, group, description, isSecret = false, isRare, isInFile, byDefault = null } = variable
    const ofFile = isInFile && !this.#environment[name] ? this.#ofFile(['environment_variables', name]) : undefined
    const found = this.#ofFlag(variable) ?? this.#ofVariables([name]) ?? ofFile
    if (!found && isRare) return []
    const { value, ...source } = found ?? withSource('default', byDefault)
    const shown = isSecret && value !== null ? secretMask : maskedValue(name, value)
    return [{ key: name, group, value: shown, ...source, isSecret, description }]
  }

  /** A value that neither the variable nor the default explains was given by the flag. */
  #ofFlag({ name, flag, byDefault }: Variable): ValueWithSource | undefined {
    if (flag === undefined) return undefined
    const { host, port, rootPath, configFile, dataDirectory } = this.#input.options
    const started = { HOST: host, PORT: port, SERVER_ROOT_PATH: rootPath, MODELGATE_CONFIG: configFile }
    const used = name === 'MODELGATE_DATA_DIR' ? dataDirectory : started[name as keyof typeof started]
    const given = this.#environment[name]
    if (name === 'MODELGATE_DATA_DIR') {
      // It may be one inside of the configured one (platform/private-directory.ts).
      if (![dataDirectory, dirname(dataDirectory)].includes(resolve(given || dataDirectoryDefault)))
        return withSource('flag', used, flag)
      return given ? withSource('environment', used, name) : withSource('default', used)
    }
    if (used === undefined || used === byDefault) return undefined
    return String(used) === given ? undefined : withSource('flag', used, flag)
  }
}

const wholeReference = /^(?:os\.environ\/[^\s=]+|\$\{[A-Za-z_][A-Za-z0-9_]*\})$/
