/**
 * Where the settings of the moment come from: read at the start, read again on demand, when the file changes, or when
 * model servers are found on this machine.
 */
import { readFileSync, statSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Settings } from '../core/settings.ts'
import type { Providers } from './deployments.ts'
import type { Environment } from './environment.ts'
import { discoverModels, mayDiscover } from './discover.ts'
import type { DiscoveredModel } from './discover.ts'
import type { Config } from './schema.ts'
import type { ReloadReport } from './serve-options.ts'
import { readSettings } from './settings.ts'

/** Editors write a file in several steps: it is read when it has been quiet for so long. */
const settleMs = 100
/** The system tells at once of most changes; not of those behind a symbolic link, on some network disks, or of a folder put in place of another. */
const lookMs = 2000

/** A configuration that cannot be used; the message lists every mistake, one a line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}

/** The settings of the moment. A reading with mistakes changes nothing; what was given out before stays as it was. */
export interface SettingsSource {
  current(): Settings
  /** The file as it was read, for what decides only at the start. */
  config(): Config
  /** All of the new file, or nothing. */
  reload(): ReloadReport
  /**
   * Where no file lists models: looks for model servers on this machine, in a fraction of a second. true = the
   * settings are other ones now. Never rejects.
   */
  discover(): Promise<boolean>
  /**
   * Calls back after every reload that a change of the file caused, and whenever models were found or lost on this
   * machine: looks for them now, in the background, and again after each reload.
   */
  watch(done: (report: ReloadReport) => void): void
  close(): void
}

/** `configFile` undefined = the environment decides. */
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
  /** Absent = nobody watches. */
  let changed: ((report: ReloadReport) => void) | undefined
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
    if (changed && (await discover())) changed?.({ applied: true, problems: [] })
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
      changed = done
      void discoverAndTell()
      if (configFile !== undefined) stopWatching = watchFile(resolve(configFile), now => now !== text && done(reload()))
    },
    close() {
      changed = undefined
      stopWatching?.()
    },
  }
}

/** What only a start reads, with the variable that wins over it. */
const readAtStart = [
  ['master_key', 'MODELGATE_MASTER_KEY'],
  ['database_url', 'DATABASE_URL'],
] as const

/** Names of settings that are other ones than at the start, and were read then only. */
function changedForStart(started: Config, now: Config, environment: Environment): string[] {
  return readAtStart
    .filter(
      ([key, variable]) => !environment[variable] && started.general_settings?.[key] !== now.general_settings?.[key],
    )
    .map(([key]) => `general_settings.${key}`)
}

/** Calls back with the file's text when it may have become another, and has settled; at once, too. Returns what ends that. */
function watchFile(path: string, look: (text: string) => void): () => void {
  let seen = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const settle = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      seen = fingerprintOf(path)
      look(textOf(path))
    }, settleMs)
  }
  // The folder, not the file: editors and config maps replace the file by another.
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === null || name === basename(path) || name.startsWith('..')) settle()
  })
  const looking = setInterval(() => fingerprintOf(path) !== seen && settle(), lookMs)
  looking.unref()
  // What changed between the first reading and now.
  settle()
  return () => {
    clearTimeout(timer)
    clearInterval(looking)
    watcher.close()
  }
}

/** Changes with the file, whatever links and folders lead to it. */
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
