/**
 * Source of the current settings: read at start, and again on request, when the file changes, or when model servers are
 * found on this machine.
 */
import { readFileSync, statSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Settings } from '../core/settings.ts'
import type { Environment } from './environment.ts'
import type { Providers } from './models/deployments.ts'
import { discoverModels, mayDiscover } from './models/local-servers.ts'
import type { DiscoveredModel } from './models/local-servers.ts'
import type { Config } from './file/schema.ts'
import { PriceWatch } from './prices/price-watch.ts'
import type { PriceSettings } from './prices/price-source.ts'
import type { ReloadReport } from './serve-options.ts'
import { isObject } from '../lib/json/json-values.ts'
import { readYaml } from './file/yaml-document.ts'
import { secretReferencesIn } from './secret-sources.ts'
import type { SecretSources } from './secret-sources.ts'
import { MergedConfiguration } from './merged-configuration.ts'
import { readSettings } from './settings.ts'
import type { SettingsReading } from './settings.ts'

/** Editors write a file in several steps: it is read after no change for this long. */
const debounceMs = 100
/**
 * File system events are missing behind symbolic links, on some network file systems and when a directory is replaced,
 * so the file is also polled.
 */
const pollMs = 2000

/** An invalid configuration; the message lists every mistake, one on each line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}

/** The current settings. A reading with mistakes changes nothing; settings that were returned before do not change. */
export interface SettingsSource {
  current(): Settings
  /** The file with what was made by API. */
  readonly merged: MergedConfiguration
  /** The file as last read, for settings that only count at start. */
  config(): Config
  /** The text of the file that is in use; undefined = there is no file. */
  text(): string | undefined
  /** Applies the whole new file, or nothing. */
  reload(): ReloadReport
  /**
   * Reads the secrets that are kept elsewhere: all of them again, or those that were never read. Where a value changed,
   * the settings are made anew, and the callback of `watch` is called. `failed` is told of each that cannot be read.
   * Never rejects.
   */
  readSecrets(which: 'all' | 'new', failed: (reference: string, problem: string) => void): Promise<void>
  /**
   * Without a model list: looks for model servers on this machine, which takes a fraction of a second. Returns whether
   * the settings changed. Never rejects.
   */
  discover(): Promise<boolean>
  /** Brings the price list of an address in `prices`. undefined = nothing changed. Never rejects. */
  fetchPrices(): Promise<ReloadReport | undefined>
  /**
   * Calls back after every reload caused by a change of the file, and when models on this machine appear or disappear.
   * Looks for them now, in the background, and after each reload. Also after changes of the price list of `prices`.
   */
  watch(done: (report: ReloadReport) => void): void
  close(): void
}

/** `configFile` undefined = no file; models come from the environment. */
interface SourceOptions {
  readonly configFile: string | undefined
  readonly environment: Environment
  readonly providers: Providers
  /** Those of the file must have been read (`secretsOfFile`). Absent = what refers to them is not checked. */
  readonly secrets?: SecretSources
}

/** The references to secrets in a configuration file; empty also where it cannot be read. */
export function secretsOfFile(configFile: string | undefined): string[] {
  return configFile === undefined ? [] : secretsOfText(textOf(configFile))
}

function secretsOfText(text: string): string[] {
  const yaml = readYaml(text, '')
  if (!('value' in yaml) || !isObject(yaml.value)) return []
  return secretReferencesIn([yaml.value.model_list, yaml.value.credential_list])
}

/** Throws ConfigError when the first reading has mistakes. */
export function openSettings({ configFile, environment, providers, secrets }: SourceOptions): SettingsSource {
  let discovered: readonly DiscoveredModel[] = []
  let config: Config = {}
  const prices: PriceWatch = new PriceWatch({ configFile, configured: () => config.prices, reload: () => readAgain() })
  let text: string | undefined
  const read = (): SettingsReading => {
    const file = textOfFile(configFile)
    if ('mistakes' in file) return file
    text = file.text
    const downloadedPrices = (settings: PriceSettings) => prices.downloaded(settings)
    return readSettings({ text, file: configFile, environment, providers, discovered, downloadedPrices, secrets })
  }
  const first = read()
  if (!first.settings) throw new ConfigError(first.mistakes)
  const merged = new MergedConfiguration(first.settings, first.surroundings, secrets)
  let applied = text
  const started = (config = first.config)
  let stopWatching: (() => void) | undefined
  let onChange: ((report: ReloadReport) => void) | undefined
  const readAgain = (): ReloadReport => {
    const next = read()
    if (!next.settings) return { applied: false, problems: next.mistakes }
    merged.useFile(next.settings, next.surroundings)
    config = next.config
    applied = text
    const atNextStart = changedForStart(started, config, environment)
    return { applied: true, problems: [], ...(atNextStart.length > 0 && { atNextStart }) }
  }
  const discover = async (): Promise<boolean> => {
    if (config.model_list !== undefined || !mayDiscover(environment)) return false
    const found = await discoverModels(providers)
    if (Bun.deepEquals(found, discovered)) return false
    discovered = found
    return readAgain().applied
  }
  const discoverAndTell = async (): Promise<void> => {
    if (onChange && (await discover())) onChange?.({ applied: true, problems: [] })
  }
  const reload = (): ReloadReport => {
    const report = readAgain()
    void discoverAndTell()
    return report
  }
  return {
    current: () => merged.settings,
    async readSecrets(which, failed) {
      const references = [...secretsOfText(text ?? ''), ...merged.references()]
      const report = (await readReferences(secrets, references, { which, failed })) && readAgain()
      if (report) onChange?.(report)
    },
    merged,
    config: () => config,
    text: () => applied,
    reload,
    discover,
    fetchPrices: () => prices.bring(),
    watch(done) {
      onChange = done
      void discoverAndTell()
      prices.watch(report => onChange?.(report))
      const changed = (now: string) => now !== text && readNew(secrets, now, () => done(reload()))
      if (configFile !== undefined) stopWatching = watchFile(resolve(configFile), changed)
    },
    close() {
      onChange = undefined
      prices.close()
      stopWatching?.()
    },
  }
}

/** The text of the configuration, which may be none, or that it cannot be read. */
function textOfFile(configFile: string | undefined): { readonly text: string | undefined } | SettingsReading {
  try {
    return { text: configFile === undefined ? undefined : readFileSync(configFile, 'utf8') }
  } catch (error) {
    const mistakes = [`${configFile}: cannot be read: ${(error as Error).message}`]
    return { settings: undefined, config: {}, mistakes, warnings: [] }
  }
}

/** Reads the new secrets of a text, then calls back. */
function readNew(secrets: SecretSources | undefined, text: string, done: () => void): void {
  void readReferences(secrets, secretsOfText(text), { which: 'new' }).then(done)
}

interface WhichSecrets {
  readonly which: 'all' | 'new'
  readonly failed?: (reference: string, problem: string) => void
}

/** true = a value changed, or is known for the first time. */
async function readReferences(
  secrets: SecretSources | undefined,
  references: readonly string[],
  { which, failed }: WhichSecrets,
): Promise<boolean> {
  const wanted = which === 'all' ? references : references.filter(one => secrets?.lookup(one) === undefined)
  return secrets !== undefined && wanted.length > 0 && (await secrets.read(wanted, failed)).length > 0
}

/** Settings that are only read at start, with the environment variable that overrides each. */
const readAtStart = [
  ['master_key', 'MODELGATE_MASTER_KEY'],
  ['database_url', 'DATABASE_URL'],
] as const

/** Names of start-only settings that changed since the start. */
function changedForStart(started: Config, now: Config, environment: Environment): string[] {
  return readAtStart
    .filter(
      ([key, variable]) => !environment[variable] && started.general_settings?.[key] !== now.general_settings?.[key],
    )
    .map(([key]) => `general_settings.${key}`)
}

/**
 * Calls back with the file's text after a possible change, debounced; also once at the beginning. Returns a function
 * that stops watching.
 */
function watchFile(path: string, onText: (text: string) => void): () => void {
  let seen = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const debounce = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      seen = fingerprintOf(path)
      onText(textOf(path))
    }, debounceMs)
  }
  // Watches the directory: editors and Kubernetes config maps replace the file.
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === null || name === basename(path) || name.startsWith('..')) debounce()
  })
  const poll = setInterval(() => fingerprintOf(path) !== seen && debounce(), pollMs)
  poll.unref()
  // Covers changes between the first reading and now.
  debounce()
  return () => {
    clearTimeout(timer)
    clearInterval(poll)
    watcher.close()
  }
}

/** Changes with the file's identity, size and time, through links and directories. */
function fingerprintOf(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return `${ino} ${size} ${mtimeMs}`
  } catch {
    return ''
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
