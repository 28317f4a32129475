/**
 * Flags and environment variables that several commands share. Flags override the environment, which overrides
 * defaults.
 */
import { join, resolve } from 'node:path'
import type { Environment } from '../config/environment.ts'
import type { Config } from '../config/file/schema.ts'
import { openSettings } from '../config/settings-source.ts'
import { databaseUrlProblem, redisUrlProblem } from '../config/file/value-checks.ts'
import { providers } from '../providers/index.ts'
import type { Flag, FlagValues } from './command.ts'
import { UsageError } from './command.ts'

/** Read by `configFile`. */
export const configFlag: Flag = { type: 'string', value: 'FILE', help: 'Configuration file (MODELGATE_CONFIG)' }
/** Read by `dataDirectory`. */
export const dataFlag: Flag = {
  type: 'string',
  value: 'DIR',
  help: 'Data directory (MODELGATE_DATA_DIR; default .modelgate)',
}
/** With it standard output is one JSON value. */
export const jsonFlag: Flag = { type: 'boolean', help: 'Write JSON' }

/** undefined = no file: the keys of the environment and the built-in models decide. */
export function configFile(flags: FlagValues, environment: Environment): string | undefined {
  return text(flags.config) ?? nonEmpty(environment.MODELGATE_CONFIG)
}

/** An absolute path, which does not need to exist. */
export function dataDirectory(flags: FlagValues, environment: Environment): string {
  return resolve(text(flags['data-dir']) ?? nonEmpty(environment.MODELGATE_DATA_DIR) ?? '.modelgate')
}

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

/** `REDIS_URL`; undefined = limits are counted in this process. Throws UsageError. */
export function redisUrl(environment: Environment): string | undefined {
  const given = nonEmpty(environment.REDIS_URL)
  const problem = given === undefined ? undefined : redisUrlProblem(given)
  if (problem !== undefined) throw new UsageError(`REDIS_URL ${problem}`)
  return given
}

/** 0 = any free port. Throws UsageError; `from` names the flag or variable. */
export function portNumber(value: string, from: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`${from} must be a port from 0 to 65535; got '${value}'`)
  return port
}

/** The value of a flag. An empty one counts as not given: `--port "$PORT"` with PORT not set. */
export function text(value: FlagValues[string]): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The value of an environment variable. An empty one counts as not set. */
export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}
