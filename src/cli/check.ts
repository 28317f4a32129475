import { readSettings } from '../config/read-settings.ts'
import { textOfFile } from '../config/reading/text-of-file.ts'
import type { SettingsReading } from '../config/settings.ts'
import { countModels, modelCountText } from '../config/model-counts.ts'
import { providers } from '../providers/index.ts'
import type { Settings } from '../core/settings.ts'
import type { Command, CommandInput } from './command.ts'
import { print, printError, UsageError } from './command.ts'
import { configFile, configFlag, jsonFlag } from './options.ts'

/**
 * Warnings change the exit code with `--strict` alone. With `--json` standard output is always
 * `{ok, mistakes, warnings}`.
 */
export const check: Command = {
  name: 'check',
  summary: 'Check a configuration file: every mistake with line and column, exit code 1',
  arguments: 'config.yaml',
  flags: {
    config: configFlag,
    json: jsonFlag,
    strict: { type: 'boolean', help: 'Warnings are mistakes: exit code 1' },
    'no-env': { type: 'boolean', help: 'Check without the variables of the environment, as before a roll-out' },
  },
  run({ flags, positionals, environment }) {
    const file = positionals[0] ?? configFile(flags, environment)
    if (file === undefined) throw new UsageError('name the file: modelgate check config.yaml')
    const { settings, mistakes, warnings } = checked(file, flags['no-env'] === true ? undefined : environment)
    const ok = mistakes.length === 0 && (flags.strict !== true || warnings.length === 0)
    if (flags.json) print(JSON.stringify({ ok, mistakes, warnings }, null, 2))
    else {
      for (const mistake of mistakes) printError(mistake)
      for (const warning of warnings) printError(`warning: ${warning}`)
      if (settings && ok)
        print(`${file} is good: ${flags['no-env'] ? 'variables were not looked up' : summary(settings)}`)
    }
    return ok ? 0 : 1
  },
}

type Checked = Pick<SettingsReading, 'settings' | 'mistakes' | 'warnings'>

/**
 * An unreadable file is reported like any other mistake, so that `--json` has it in the same place. `environment`
 * undefined = any variable may be set where the gateway will run, also those that providers read by themselves.
 */
function checked(file: string, environment: CommandInput['environment'] | undefined): Checked {
  let text: string
  try {
    text = textOfFile(file)
  } catch (error) {
    return { settings: undefined, mistakes: [(error as Error).message], warnings: [] }
  }
  if (environment === undefined)
    return readSettings({ text, file, environment: anyKeys, anyVariables: true, providers })
  return readSettings({ text, file, environment, providers })
}

/** Stand-ins for what the environment may give to entries that name no key, region or project. */
const anyKeys: CommandInput['environment'] = {
  ...Object.fromEntries([...providers.values()].flatMap(one => one.apiKeyEnv.map(name => [name, 'not-looked-up']))),
  AWS_REGION: 'us-east-1',
  VERTEXAI_PROJECT: 'not-looked-up',
}

function summary(settings: Settings): string {
  const { models, more } = modelCountText(countModels(settings))
  return `${models}${more}`
}
