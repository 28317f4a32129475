/**
 * Flags and environment variables that several commands share. Flags override the environment, which overrides
 * defaults.
 */
import { resolve } from 'node:path'
import type { Environment } from '../config/environment.ts'
import { redisUrlProblem } from '../config/checks/value-checks.ts'
import { directoryFor } from '../platform/private-directory.ts'
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

/** The absolute path of the directory that holds the gateway's files (`directoryFor`); it does not need to exist. */
export function dataDirectory(flags: FlagValues, environment: Environment): string {
  return directoryFor(resolve(text(flags['data-dir']) ?? nonEmpty(environment.MODELGATE_DATA_DIR) ?? '.modelgate'))
}

/** `REDIS_URL`; undefined = the configuration file may name one. Throws UsageError. */
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
