import { existsSync, readFileSync } from 'node:fs'
import { readSettings } from '../config/settings.ts'
import { providers } from '../providers/index.ts'
import type { Command } from './command.ts'
import { print, printError, UsageError } from './command.ts'
import { configFile, configFlag, jsonFlag } from './options.ts'

export const check: Command = {
  name: 'check',
  summary: 'Check a configuration file: every mistake with line and column, exit code 1',
  arguments: 'config.yaml',
  flags: { config: configFlag, json: jsonFlag },
  run({ flags, positionals, environment }) {
    const file = positionals[0] ?? configFile(flags, environment)
    if (file === undefined) throw new UsageError('name the file: modelgate check config.yaml')
    if (!existsSync(file)) throw new Error(`${file}: no such file`)
    const { settings, mistakes } = readSettings({ text: textOf(file), file, environment, providers })
    const warnings = settings?.warnings ?? []
    if (flags.json) print(JSON.stringify({ ok: mistakes.length === 0, mistakes, warnings }, null, 2))
    else {
      for (const mistake of mistakes) printError(mistake)
      for (const warning of warnings) printError(`warning: ${warning}`)
      if (settings) print(`${file} is good: ${settings.deployments.length} models`)
    }
    return mistakes.length === 0 ? 0 : 1
  },
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file}: cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
