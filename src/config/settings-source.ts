/** Where the settings of the moment come from: read at the start, read again on demand or when the file changes. */
import { readFileSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Settings } from '../core/settings.ts'
import type { Environment, Providers } from './deployments.ts'
import type { Config } from './schema.ts'
import type { ReloadReport } from './serve-options.ts'
import { readSettings } from './settings.ts'

/** Editors write a file in several steps. */
const settleMs = 100

/** A configuration that cannot be used; the message lists every mistake, one a line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}

export interface SettingsSource {
  current(): Settings
  /** The file as it was read, for what decides only at the start. */
  config(): Config
  /** All of the new file, or nothing. */
  reload(): ReloadReport
  /** Calls back after every reload that a change of the file caused. */
  watch(done: (report: ReloadReport) => void): void
  close(): void
}

export interface SourceOptions {
  readonly configFile: string | undefined
  readonly environment: Environment
  readonly providers: Providers
}

/** Throws ConfigError when the first reading has mistakes. */
export function openSettings({ configFile, environment, providers }: SourceOptions): SettingsSource {
  const read = () => {
    let text: string | undefined
    try {
      if (configFile !== undefined) text = readFileSync(configFile, 'utf8')
    } catch (error) {
      return { settings: undefined, config: {}, mistakes: [`${configFile}: cannot be read: ${(error as Error).message}`] }
    }
    return readSettings({ text, file: configFile, environment, providers })
  }
  const first = read()
  if (!first.settings) throw new ConfigError(first.mistakes)
  let settings = first.settings
  let config = first.config
  let lastText = ''
  let watcher: FSWatcher | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const reload = (): ReloadReport => {
    const next = read()
    if (!next.settings) return { applied: false, problems: next.mistakes }
    settings = next.settings
    config = next.config
    return { applied: true, problems: [] }
  }
  return {
    current: () => settings,
    config: () => config,
    reload,
    watch(done) {
      if (configFile === undefined) return
      const path = resolve(configFile)
      lastText = textOf(path)
      // The folder, not the file: editors and config maps replace the file by another.
      watcher = watch(dirname(path), (_event, name) => {
        if (name !== null && name !== basename(path) && !name.startsWith('..')) return
        clearTimeout(timer)
        timer = setTimeout(() => {
          const text = textOf(path)
          if (text === lastText) return
          lastText = text
          done(reload())
        }, settleMs)
      })
    },
    close() {
      clearTimeout(timer)
      watcher?.close()
    },
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
