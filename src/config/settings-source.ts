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
import type { ReloadReport } from './serve-options.ts'
import { readSettings } from './settings.ts'

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
  /** The file as last read, for settings that only count at start. */
  config(): Config
  /** Applies the whole new file, or nothing. */
  reload(): ReloadReport
  /**
   * Without a model list: looks for model servers on this machine, which takes a fraction of a second. Returns whether
   * the settings changed. Never rejects.
   */
  discover(): Promise<boolean>
  /**
   * Calls back after every reload caused by a change of the file, and when models on this machine appear or disappear.
   * Looks for them now, in the background, and after each reload.
   */
  watch(done: (report: ReloadReport) => void): void
  close(): void
}

/** `configFile` undefined = no file; models come from the environment. */
interface SourceOptions {
  readonly configFile: string | undefined
  readonly environment: Environment
  readonly providers: Providers
}

/** Throws ConfigError when the first reading has mistakes. */
export function openSettings({ configFile, environment, providers }: SourceOptions): SettingsSource {
  let discovered: readonly DiscoveredModel[] = []
  let text: string | undefined
  const read = () => {
    try {
      if (configFile !== undefined) text = readFileSync(configFile, 'utf8')
    } catch (error) {
      return {
        settings: undefined,
        config: {},
        mistakes: [`${configFile}: cannot be read: ${(error as Error).message}`],
      }
    }
    return readSettings({ text, file: configFile, environment, providers, discovered })
  }
  const first = read()
  if (!first.settings) throw new ConfigError(first.mistakes)
  let settings = first.settings
  let config = first.config
  const started = first.config
  let stopWatching: (() => void) | undefined
  /** Absent = not watching. */
  let onChange: ((report: ReloadReport) => void) | undefined
  const readAgain = (): ReloadReport => {
    const next = read()
    if (!next.settings) return { applied: false, problems: next.mistakes }
    settings = next.settings
    config = next.config
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
    current: () => settings,
    config: () => config,
    reload,
    discover,
    watch(done) {
      onChange = done
      void discoverAndTell()
      if (configFile !== undefined) stopWatching = watchFile(resolve(configFile), now => now !== text && done(reload()))
    },
    close() {
      onChange = undefined
      stopWatching?.()
    },
  }
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
