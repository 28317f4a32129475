/** What holds, setting by setting, and where each value comes from: for `GET /config/effective` and `config print`. */
import { dirname, resolve } from 'node:path'
import { secretMask } from '../../core/objects/configured-objects.ts'
import { settingGroups } from '../../core/effective-values.ts'
import type { EffectiveValue, SettingSource } from '../../core/effective-values.ts'
import type { Environment } from '../environment.ts'
import type { ServeOptions } from '../serve-options.ts'
import { providers } from '../../providers/index.ts'
import { readConfig } from '../reading/parse.ts'
import { noReading } from '../reading/reading.ts'
import type { ConfigReading } from '../reading/reading.ts'
import { placedKeys } from '../sections/setting-paths.ts'
import type { PlacedKey } from '../sections/setting-paths.ts'
import { isSecret, maskedValue } from './masked.ts'
import { variables } from './variables.ts'
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

const pathText = (path: readonly string[]): string => path.join('.')

/** By the path of a key: another one that counts where it is left out. */
const secondKeys: ReadonlyMap<string, string> = new Map(
  placedKeys.flatMap(({ path, key }) => (key.sameAs === undefined ? [] : [[key.sameAs, pathText(path)] as const])),
)

/** By group, each in the order of the file's schema, variables last. */
export function effectiveValues(input: EffectiveInput): EffectiveValue[] {
  const { text, options } = input
  const file = options.configFile ?? 'config.yaml'
  const reading =
    text === undefined ? noReading : readConfig(text, { file, environment: options.environment, anyVariables: true })
  const found = new Finder(input, reading)
  // A key that means the same as another one is listed under the one that wins.
  const keys = placedKeys.filter(({ path, key }) => !lists.has(path[0]!) && key.sameAs === undefined)
  const values = [
    ...keys.map(one => found.ofKey(one)),
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

  ofKey(placed: PlacedKey): EffectiveValue {
    const { path, key, group } = placed
    const { value, ...found } = this.#find(placed)
    return {
      key: pathText(path),
      group,
      value: value === null ? null : maskedValue(value, key.secret),
      ...found,
      isSecret: isSecret(key),
      description: key.description,
    }
  }

  #find({ path, key, usedWith }: PlacedKey): ValueWithSource {
    const { options, sent } = this.#input
    const place = pathText(path)
    const second = secondKeys.get(place)?.split('.')
    const found =
      this.#ofVariables(key.winningVariable === undefined ? [] : [key.winningVariable]) ??
      this.#ofFile(path) ??
      (second && this.#ofFile(second)) ??
      this.#ofVariables(key.fillingVariables ?? [])
    if (found) return found
    if (sent.has(place)) return withSource('api', sent.get(place))
    if (place === 'general_settings.master_key') return withSource('stored', secretMask)
    if (place === 'general_settings.database_url') return withSource('default', options.databaseUrl)
    const isUsed = usedWith.every(one => this.#holds(one))
    return withSource('default', isUsed && 'default' in key ? key.default : null)
  }

  /** Whether a key has the value that another one has an effect with. */
  #holds({ path, value }: PlacedKey['usedWith'][number]): boolean {
    const given = valueAt(this.#reading.config, path.split('.'))
    return value === undefined ? given !== undefined : given === value
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
    const { name, group, description, isSecret: isHidden = false, isRare, isInFile, byDefault = null } = variable
    const ofFile = isInFile && !this.#environment[name] ? this.#ofFile(['environment_variables', name]) : undefined
    const found = this.#ofFlag(variable) ?? this.#ofVariables([name]) ?? ofFile
    if (!found && isRare) return []
    const { value, ...source } = found ?? withSource('default', byDefault)
    const shown = isHidden && value !== null ? secretMask : maskedValue(value)
    return [{ key: name, group, value: shown, ...source, isSecret: isHidden, description }]
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
