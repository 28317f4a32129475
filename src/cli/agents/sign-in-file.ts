/** The sign-ins of this person, in a file that no other user of the machine can read. */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import type { Environment } from '../../config/environment.ts'
import { withFileLock } from '../../store/database/file-lock.ts'
import { nonEmpty } from '../options.ts'
import { lazy } from '../../lib/lazy.ts'
import { parsedJson } from '../../lib/json/json-values.ts'
import { errorCode } from '../../lib/error-code.ts'

const signInSchema = lazy(() =>
  z.object({
    accessToken: z.string(),
    refreshToken: z.string(),
    /** By the clock of this machine, in milliseconds since 1970. */
    obtainedAtMs: z.number(),
    lifetimeMs: z.number(),
    tokenEndpoint: z.string(),
    revocationEndpoint: z.string().optional(),
    /** Whose it is, for messages. */
    user: z.string(),
  }),
)
/** A sign-in at one gateway. */
export type SignIn = z.infer<ReturnType<typeof signInSchema>>

const fileSchema = lazy(() =>
  z.object({
    version: z.literal(1),
    /** The address that was signed in to last. */
    newest: z.string().optional(),
    signIns: z.record(z.string(), signInSchema()),
  }),
)
/** The content of the file: sign-ins by the address of their gateway. */
export type SignIns = z.infer<ReturnType<typeof fileSchema>>

const lockWaitMs = 60_000

/**
 * `MODELGATE_CONFIG_HOME`, else the place of the platform: `~/.config/modelgate`, or `%APPDATA%\modelgate`. For
 * everything that the command line keeps for a person.
 */
export function personalDirectory(environment: Environment): string {
  const own = nonEmpty(environment.MODELGATE_CONFIG_HOME)
  if (own !== undefined) return own
  const home = nonEmpty(environment.HOME) ?? homedir()
  const base = process.platform === 'win32' ? nonEmpty(environment.APPDATA) : nonEmpty(environment.XDG_CONFIG_HOME)
  return join(base ?? join(home, '.config'), 'modelgate')
}

const fileOf = (environment: Environment): string => join(personalDirectory(environment), 'sign-ins.json')

/** What is kept; nothing where there is no file. Throws where it cannot be read. */
export function readSignIns(environment: Environment): SignIns {
  const path = fileOf(environment)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { version: 1, signIns: {} }
    throw error
  }
  const { data } = fileSchema().safeParse(parsedJson(text))
  if (data) return data
  throw new Error(`${path} cannot be read: it is of another version, or damaged; delete it, and sign in again`)
}

/** Replaces the file at once, so that a reader sees the one before or the new one. */
export function writeSignIns(environment: Environment, signIns: SignIns): void {
  writePrivately(fileOf(environment), `${JSON.stringify(signIns, null, 2)}\n`)
}

/** Writes a file that its owner alone can read, in one step. Makes its directory. */
export function writePrivately(path: string, text: string, mode = 0o600): void {
  const directory = join(path, '..')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUIDv7()}.tmp`
  const file = openSync(temporary, 'wx', mode)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  try {
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Runs `work` while no other process of this person does. Waits up to a minute for it. */
export async function withLock<T>(environment: Environment, work: () => Promise<T>): Promise<T> {
  const directory = personalDirectory(environment)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return withFileLock(join(directory, 'sign-ins.lock'), lockWaitMs, work)
}
