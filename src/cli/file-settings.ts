/** Settings that commands take from the configuration file, and what stands before it. */
import { join } from 'node:path'
import type { Environment } from '../config/environment.ts'
import type { Config } from '../config/sections/file.ts'
import { databaseUrlProblem } from '../config/checks/value-checks.ts'
import { openSettings } from '../config/settings-source.ts'
import { providers } from '../providers/index.ts'
import type { FlagValues } from './command.ts'
import { UsageError } from './command.ts'
import { configFile, dataDirectory, nonEmpty } from './options.ts'

type GeneralSettings = NonNullable<Config['general_settings']>

/** The configuration file. Throws ConfigError. */
export async function readConfig(flags: FlagValues, environment: Environment): Promise<Config> {
  return (await openSettings({ configFile: configFile(flags, environment), environment, providers })).config()
}

/** `general_settings` of the configuration file, for settings needed before serving. Throws ConfigError. */
export async function generalSettings(flags: FlagValues, environment: Environment): Promise<GeneralSettings> {
  return (await readConfig(flags, environment)).general_settings ?? {}
}

/**
 * `DATABASE_URL`, else the configuration file's, else the embedded database in the data directory. `general` = the
 * file's settings where they have been read. Throws UsageError and ConfigError.
 */
export async function databaseUrl(
  flags: FlagValues,
  environment: Environment,
  general?: GeneralSettings,
): Promise<string> {
  const fromEnvironment = nonEmpty(environment.DATABASE_URL)
  const given = fromEnvironment ?? (general ?? (await generalSettings(flags, environment))).database_url
  if (given === undefined) return `sqlite:${join(dataDirectory(flags, environment), 'modelgate.sqlite')}`
  const problem = databaseUrlProblem(given)
  if (problem !== undefined)
    throw new UsageError(
      `${fromEnvironment === undefined ? 'general_settings.database_url' : 'DATABASE_URL'} ${problem}`,
    )
  return given
}
