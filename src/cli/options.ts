/** Flags and environment that several commands share. Flags win over the environment, that over defaults. */
import { join, resolve } from 'node:path'
import type { Config } from '../config/schema.ts'
import { openSettings } from '../config/settings-source.ts'
import { databaseUrlProblem, redisUrlProblem } from '../config/texts.ts'
import { providers } from '../providers/index.ts'
import type { Flag, FlagValues } from './command.ts'
import { UsageError } from './command.ts'

export const configFlag: Flag = { type: 'string', value: 'FILE', help: 'Configuration file (MODELGATE_CONFIG)' }
export const dataFlag: Flag = { type: 'string', value: 'DIR', help: 'Data directory (MODELGATE_DATA_DIR; default .modelgate)' }
export const jsonFlag: Flag = { type: 'boolean', help: 'Write JSON' }

type Environment = Readonly<Record<string, string | undefined>>

export function configFile(flags: FlagValues, environment: Environment): string | undefined {
  return text(flags.config) ?? nonEmpty(environment.MODELGATE_CONFIG)
}

export function dataDirectory(flags: FlagValues, environment: Environment): string {
  return resolve(text(flags['data-dir']) ?? nonEmpty(environment.MODELGATE_DATA_DIR) ?? '.modelgate')
}

/** `general_settings` of the configuration file, for what decides before anything is served. */
export function generalSettings(flags: FlagValues, environment: Environment): NonNullable<Config['general_settings']> {
  return openSettings({ configFile: configFile(flags, environment), environment, providers }).config().general_settings ?? {}
}

/** `DATABASE_URL`, else the configuration file's, else the embedded database in the data directory. */
export function databaseUrl(flags: FlagValues, environment: Environment): string {
  const fromEnvironment = nonEmpty(environment.DATABASE_URL)
  const given = fromEnvironment ?? generalSettings(flags, environment).database_url
  if (given === undefined) return `sqlite:${join(dataDirectory(flags, environment), 'modelgate.sqlite')}`
  const problem = databaseUrlProblem(given)
  if (problem !== undefined) throw new UsageError(`${fromEnvironment === undefined ? 'general_settings.database_url' : 'DATABASE_URL'} ${problem}`)
  return given
}

/** `REDIS_URL`; undefined = the limits are counted in this process. */
export function redisUrl(environment: Environment): string | undefined {
  const given = nonEmpty(environment.REDIS_URL)
  const problem = given === undefined ? undefined : redisUrlProblem(given)
  if (problem !== undefined) throw new UsageError(`REDIS_URL ${problem}`)
  return given
}

export function portNumber(value: string, from: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError(`${from} must be a port from 0 to 65535; got '${value}'`)
  return port
}

export function text(value: FlagValues[string]): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}
