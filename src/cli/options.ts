/** Flags and environment that several commands share. Flags win over the environment, that over defaults. */
import { join, resolve } from 'node:path'
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

/** `DATABASE_URL`, else the embedded database in the data directory. */
export function databaseUrl(directory: string, environment: Environment): string {
  return nonEmpty(environment.DATABASE_URL) ?? `sqlite:${join(directory, 'modelgate.sqlite')}`
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
