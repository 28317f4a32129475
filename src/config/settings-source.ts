/**
 * Source of the current settings: read at start, and again on request, when the file changes, or when model servers are
 * found on this machine.
 */
import { statSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Settings } from '../core/settings.ts'
import type { Environment } from './environment.ts'
import type { Providers } from './models/deployments.ts'
import { discoverModels, mayDiscover } from './models/local-servers.ts'
import type { DiscoveredModel } from './models/local-servers.ts'
import type { Config } from './sections/file.ts'
import { generalKeys } from './sections/general.ts'
import type { SettingKey } from '../core/setting-keys.ts'
import { valueAt } from '../lib/json/json-values.ts'
import { PriceWatch } from './prices/price-watch.ts'
import type { ReloadReport } from './serve-options.ts'
import type { ConfigReader, ConfigReading } from './reading/reading.ts'
import { textOfFile } from './reading/text-of-file.ts'
import type { SecretSources } from './secret-sources.ts'
import { MergedConfiguration } from './merged-configuration.ts'
import { settingsFrom } from './settings.ts'
import type { SettingsReading } from './settings.ts'

/** Editors write a file in several steps: it is read after no change for this long. */
const debounceMs = 100
/**
 * File system events are missing behind symbolic links, on some network file systems and when a directory is replaced,
 * so the file is also polled.
 */
const pollMs = 2000
/** How long after it was pulled a model of a server on this machine is served at the latest. */
const discoverMs = 10_000

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
  reload(): Promise<ReloadReport>
  /**
   * Reads the secrets that are kept elsewhere: all of them again, or those that were never read. Where a value changed,
   * the settings are made anew, and the callback of `watch` is called. `failed` is called for each that cannot be read.
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
   * Looks for them now, in the background, every few seconds, and after each reload. Also after changes of the price
   * list of `prices`.
   */
  watch(done: (report: ReloadReport) => void): void
  close(): void
}

/** `configFile` undefined = no file; models come from the environment. */
interface SourceOptions {
  readonly configFile: string | undefined
  readonly environment: Environment
  readonly providers: Providers
  /** Absent = what refers to them is not checked. */
  readonly secrets?: SecretSources
  /** true = broken entries of the model list are left out at the start. */
  readonly leavesOut?: boolean
  /** Absent = files are read in this process, which keeps what is loaded for that. */
  readonly readFile?: ConfigReader | undefined
  /** How often servers on this machine are looked for. */
  readonly discoverEveryMs?: number
  /** As in `SettingsInput`. */
  readonly readsPriceList?: boolean
}

const readHere: ConfigReader = async (text, options) => (await import('./reading/parse.ts')).readConfig(text, options)

/** Throws ConfigError when the first reading has mistakes. */
export async function openSettings(options: SourceOptions): Promise<SettingsSource> {
  const source = new FileSource(options)
  await source.begin()
  return source
}

/** What was read of a file. */
interface ReadText {
  readonly text: string | undefined
  readonly reading: ConfigReading | undefined
}

class FileSource implements SettingsSource {
  readonly #options: SourceOptions
  readonly #prices: PriceWatch
  #discovered: readonly DiscoveredModel[] = []
  #config: Config = {}
  #started: Config = {}
  /** The text that was read last, and that which is in use. */
  #text: string | undefined
  #applied: string | undefined
  /** The names of the entries that are not served. */
  #leftOut: readonly string[] = []
  /** Of the text that was read last. */
  #references: readonly string[] = []
  #merged: MergedConfiguration | undefined
  /** Ends with the reading that was asked for last: one at a time, in their order. */
  #turn: Promise<unknown> = Promise.resolve()
  #stopWatching: (() => void) | undefined
  #nextDiscovery: ReturnType<typeof setTimeout> | undefined
  #onChange: ((report: ReloadReport) => void) | undefined

  constructor(options: SourceOptions) {
    this.#options = options
    const { configFile } = options
    this.#prices = new PriceWatch({
      configFile,
      configured: () => this.#config.prices,
      reload: () => this.#readAgain(),
    })
  }

  async begin(): Promise<void> {
    const first = await this.#read()
    if (!first.settings) throw new ConfigError(first.mistakes)
    this.#merged = new MergedConfiguration(first.settings, first.entryContext, this.#options.secrets)
    this.#applied = this.#text
    this.#config = this.#started = first.config
    this.#leftOut = first.leftOut?.names ?? []
  }

  get merged(): MergedConfiguration {
    return this.#merged!
  }

  current(): Settings {
    return this.merged.settings
  }

  config(): Config {
    return this.#config
  }

  text(): string | undefined {
    return this.#applied
  }

  async #read(): Promise<SettingsReading> {
    const { configFile, environment, providers, secrets, leavesOut } = this.#options
    const read = await this.#readText()
    if ('mistakes' in read) return read
    this.#text = read.text
    this.#references = read.reading?.references ?? []
    return settingsFrom({
      reading: read.reading,
      file: configFile,
      environment,
      providers,
      discovered: this.#discovered,
      downloadedPrices: settings => this.#prices.downloaded(settings),
      readsPriceList: this.#options.readsPriceList,
      secrets,
      leavesOut,
    })
  }

  /** Secrets that the file refers to and that were never read are read first. */
  async #readText(): Promise<ReadText | SettingsReading> {
    const { configFile, environment, secrets, readFile = readHere } = this.#options
    const file = configuredText(configFile)
    if ('mistakes' in file) return file
    const { text } = file
    if (text === undefined) return { text, reading: undefined }
    const options = { file: configFile!, environment, secrets: secrets?.known }
    const reading = await readFile(text, options)
    const unread = reading.references.filter(one => secrets?.known.has(one) === false)
    if (unread.length === 0) return { text, reading }
    await secrets!.read(unread)
    return { text, reading: await readFile(text, options) }
  }

  #readAgain(): Promise<ReloadReport> {
    const read = this.#turn.then(() => this.#readNow())
    this.#turn = read.catch(() => {})
    return read
  }

  async #readNow(): Promise<ReloadReport> {
    const next = await this.#read()
    if (!next.settings) return { applied: false, problems: next.mistakes }
    const { names = [], lines = [] } = next.leftOut ?? {}
    // A model that is served does not go by a slip of an editor.
    if (names.some(name => !this.#leftOut.includes(name))) return { applied: false, problems: lines }
    this.#leftOut = names
    this.merged.useFile(next.settings, next.entryContext)
    this.#config = next.config
    this.#applied = this.#text
    const atNextStart = changedForStart(this.#started, this.#config, this.#options.environment)
    return { applied: true, problems: [], ...(atNextStart.length > 0 && { atNextStart }) }
  }

  async readSecrets(which: 'all' | 'new', failed: (reference: string, problem: string) => void): Promise<void> {
    const references = [...this.#references, ...this.merged.references()]
    if (!(await readReferences(this.#options.secrets, references, { which, failed }))) return
    const report = await this.#readAgain()
    this.#onChange?.(report)
  }

  async reload(): Promise<ReloadReport> {
    const report = await this.#readAgain()
    void this.#discoverAndTell()
    return report
  }

  async discover(): Promise<boolean> {
    if (this.#config.model_list !== undefined || !mayDiscover(this.#options.environment)) return false
    const found = await discoverModels(this.#options.providers, this.#discovered)
    if (Bun.deepEquals(found, this.#discovered)) return false
    this.#discovered = found
    return (await this.#readAgain()).applied
  }

  async #discoverAndTell(): Promise<void> {
    if (this.#onChange && (await this.discover())) this.#onChange?.({ applied: true, problems: [] })
  }

  /** One search after the other: models are pulled, and servers started, at any time. */
  async #discoverAgain(): Promise<void> {
    await this.#discoverAndTell()
    if (!this.#onChange) return
    this.#nextDiscovery = setTimeout(() => void this.#discoverAgain(), this.#options.discoverEveryMs ?? discoverMs)
    this.#nextDiscovery.unref()
  }

  fetchPrices(): Promise<ReloadReport | undefined> {
    return this.#prices.bring()
  }

  watch(done: (report: ReloadReport) => void): void {
    this.#onChange = done
    void this.#discoverAgain()
    this.#prices.watch(report => this.#onChange?.(report))
    const { configFile } = this.#options
    const changed = (now: string) => now !== this.#text && void this.reload().then(report => this.#onChange?.(report))
    if (configFile !== undefined) this.#stopWatching = watchFile(resolve(configFile), changed)
  }

  close(): void {
    this.#onChange = undefined
    clearTimeout(this.#nextDiscovery)
    this.#prices.close()
    this.#stopWatching?.()
  }
}

/** The text of the configuration, which may be none, or that it cannot be read. */
function configuredText(configFile: string | undefined): { readonly text: string | undefined } | SettingsReading {
  try {
    return { text: configFile === undefined ? undefined : textOfFile(configFile) }
  } catch (error) {
    return { settings: undefined, config: {}, mistakes: [(error as Error).message], warnings: [] }
  }
}

interface SecretRefresh {
  readonly which: 'all' | 'new'
  readonly failed?: (reference: string, problem: string) => void
}

/** true = a value changed, or is known for the first time. */
async function readReferences(
  secrets: SecretSources | undefined,
  references: readonly string[],
  { which, failed }: SecretRefresh,
): Promise<boolean> {
  const wanted = which === 'all' ? references : references.filter(one => !secrets?.known.has(one))
  return secrets !== undefined && wanted.length > 0 && (await secrets.read(wanted, failed)).length > 0
}

/** Names of settings that are only read at a start, and that changed since then. */
function changedForStart(started: Config, now: Config, environment: Environment): string[] {
  const valueIn = ({ general_settings: general }: Config, name: string) => valueAt(general, [name])
  return Object.entries<SettingKey>(generalKeys).flatMap(([name, { isReadAtStart, winningVariable = '' }]) => {
    const isChanged = isReadAtStart && !environment[winningVariable] && valueIn(started, name) !== valueIn(now, name)
    return isChanged ? [`general_settings.${name}`] : []
  })
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
      onText(textOrEmpty(path))
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

function textOrEmpty(path: string): string {
  try {
    return textOfFile(path)
  } catch {
    return ''
  }
}
