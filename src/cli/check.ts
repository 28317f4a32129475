import { existsSync, readFileSync } from 'node:fs'
import { readSettings } from '../config/settings.ts'
import type { SettingsReading } from '../config/settings.ts'
import { countModels, modelCountText } from '../config/model-counts.ts'
import { providers } from '../providers/index.ts'
import type { Settings } from '../core/settings.ts'
import type { Command, CommandInput } from './command.ts'
import { print, printError, UsageError } from './command.ts'
import { configFile, configFlag, jsonFlag } from './options.ts'

/** Warnings do not change the exit code 0. With `--json` standard output is always `{ok, mistakes, warnings}`. */
export const check: Command = {
  name: 'check',
  summary: 'Check a configuration file: every mistake with line and column, exit code 1',
  arguments: 'config.yaml',
  flags: { config: configFlag, json: jsonFlag },
  run({ flags, positionals, environment }) {
    const file = positionals[0] ?? configFile(flags, environment)
    if (file === undefined) throw new UsageError('name the file: modelgate check config.yaml')
    const { settings, mistakes, warnings } = checked(file, environment)
    if (flags.json) print(JSON.stringify({ ok: mistakes.length === 0, mistakes, warnings }, null, 2))
    else {
      for (const mistake of mistakes) printError(mistake)
      for (const warning of warnings) printError(`warning: ${warning}`)
      if (settings) print(`${file} is good: ${summary(settings)}`)
    }
    return mistakes.length === 0 ? 0 : 1
  },
}

type Checked = Pick<SettingsReading, 'settings' | 'mistakes' | 'warnings'>

/** An unreadable file is reported like any other mistake, so that `--json` has it in the same place. */
function checked(file: string, environment: CommandInput['environment']): Checked {
  const unreadable = (message: string): Checked => ({
    settings: undefined,
    mistakes: [`${file}: ${message}`],
    warnings: [],
  })
  if (!existsSync(file)) return unreadable('no such file')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return unreadable(`cannot be read: ${(error as Error).message}`)
  }
  return readSettings({ text, file, environment, providers })
}

function summary(settings: Settings): string {
  const { models, more } = modelCountText(countModels(settings))
  return `${models}${more}`
}
