/** `modelgate backup FILE` and `modelgate restore FILE`. */
import { readFileSync } from 'node:fs'
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../lib/clock.ts'
import { lockDataDirectory } from '../platform/data-directory-lock.ts'
import { keepPrivate } from '../platform/private-directory.ts'
import { BackupError, readArchive } from '../store/backup/archive.ts'
import type { BackupKey, BackupOpener, Manifest } from '../store/backup/archive.ts'
import { makeBackup } from '../store/backup/backup.ts'
import { restoreBackup } from '../store/backup/restore.ts'
import type { Command, CommandInput, Flag } from './command.ts'
import { print, printError, UsageError } from './command.ts'
import { withUnchangedDatabase } from './gateway-database.ts'
import { databaseUrl } from './file-settings.ts'
import { configFlag, dataDirectory, dataFlag, jsonFlag, nonEmpty, text } from './options.ts'

const passphraseFlag: Flag = {
  type: 'string',
  value: 'FILE',
  help: 'Encrypt with the passphrase in this file (MODELGATE_BACKUP_PASSPHRASE)',
}
const identityFlag: Flag = { type: 'string', value: 'FILE', help: 'Open with the age identity in this file' }

/** The backup is consistent and checked; the gateway goes on serving meanwhile. */
export const backup: Command = {
  name: 'backup',
  summary: 'Write database, journal and keys of a gateway, which may be running, into one checked file',
  arguments: 'FILE',
  flags: {
    'passphrase-file': passphraseFlag,
    recipient: { type: 'string', value: 'age1...', help: 'Encrypt for the holder of an age identity, in its place' },
    config: configFlag,
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run(input) {
    const path = fileIn(input, 'backup')
    const passphrase = passphraseOf(input)
    const recipient = text(input.flags.recipient)
    if (recipient !== undefined && input.flags['passphrase-file'] !== undefined)
      throw new UsageError('--recipient and --passphrase-file exclude each other; give one')
    const key = keyOf(recipient, passphrase)
    const manifest = await withUnchangedDatabase(input, ({ databaseUrl: url }) =>
      makeBackup(path, {
        databaseUrl: url,
        dataDirectory: dataDirectory(input.flags, input.environment),
        program: packageJson.version,
        nowMs: systemClock.epochMs(),
        key,
        opener: key !== undefined && 'passphrase' in key ? key : undefined,
      }),
    )
    if (input.flags.json) print(JSON.stringify({ file: path, encrypted: key !== undefined, ...manifest }))
    else print(`${path}: ${contentOf(manifest)}${recipient === undefined ? '; read again and found whole' : ''}`)
    remind(input, { manifest, isEncrypted: key !== undefined })
    return 0
  },
}

function keyOf(recipient: string | undefined, passphrase: string | undefined): BackupKey | undefined {
  if (recipient !== undefined) {
    if (!/^age1[a-z0-9]+$/.test(recipient))
      throw new UsageError("--recipient must be the public key of an age identity, which begins with 'age1'")
    return { recipient }
  }
  return passphrase === undefined ? undefined : { passphrase }
}

/** What has to be kept beside the file, or with it. */
function remind(
  { environment }: CommandInput,
  { manifest, isEncrypted }: { readonly manifest: Manifest; readonly isEncrypted: boolean },
): void {
  const apart = ['MODELGATE_ENCRYPTION_KEY', 'LITELLM_SALT_KEY', 'MODELGATE_KEY_PEPPER'].filter(name =>
    nonEmpty(environment[name]),
  )
  if (apart.length > 0)
    printError(`note: ${apart.join(' and ')} is not in it, and a restore needs it; keep it elsewhere`)
  if (!isEncrypted && manifest.files.some(one => one.name === 'encryption-key'))
    printError(
      'note: it holds the key that opens stored secrets; keep it where only you can read it, or encrypt it with ' +
        '--passphrase-file',
    )
}

/** Refused while a gateway runs. A process that is ended in the middle leaves the old state. */
export const restore: Command = {
  name: 'restore',
  summary: 'Put a backup in the place of what a stopped gateway has; what was there is moved aside',
  arguments: 'FILE',
  flags: {
    check: { type: 'boolean', help: 'Change nothing; read the file and compare it with its list' },
    'passphrase-file': {
      ...passphraseFlag,
      help: 'Open with the passphrase in this file (MODELGATE_BACKUP_PASSPHRASE)',
    },
    'identity-file': identityFlag,
    config: configFlag,
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run(input) {
    const { flags, environment } = input
    const path = fileIn(input, 'restore')
    const opener = openerOf(input)
    if (flags.check) {
      const manifest = await readArchive(path, { opener })
      print(flags.json ? JSON.stringify({ ok: true, ...manifest }) : `${path} is whole: ${contentOf(manifest)}`)
      return 0
    }
    const directory = dataDirectory(flags, environment)
    const url = await databaseUrl(flags, environment)
    keepPrivate(directory)
    const lock = lockDataDirectory(directory)
    try {
      const { manifest, before } = await restoreBackup(path, { databaseUrl: url, dataDirectory: directory, opener })
      if (flags.json) print(JSON.stringify({ ...manifest, before: before ?? null }))
      else print(`restored ${contentOf(manifest)}`)
      if (before !== undefined) printError(`note: what was there is in ${before}; remove it when all is well`)
    } finally {
      lock.release()
    }
    return 0
  },
}

function contentOf({ files, made_at: madeAt, database, migration }: Manifest): string {
  const bytes = files.reduce((sum, one) => sum + one.bytes, 0)
  const segments = files.filter(one => one.name.endsWith('.journal')).length
  return (
    `${database === 'sqlite' ? 'an SQLite database' : 'a database of Postgres'} (step ${migration}) and ` +
    `${segments} files of the journal, ${(bytes / 1024 / 1024).toFixed(1)} MB, of ${madeAt}`
  )
}

function fileIn({ positionals }: CommandInput, command: string): string {
  const [path] = positionals
  if (path === undefined) throw new UsageError(`name the file: modelgate ${command} FILE`)
  return path
}

function openerOf(input: CommandInput): BackupOpener | undefined {
  const identity = text(input.flags['identity-file'])
  if (identity !== undefined) return { identity: lineOf(identity, /^AGE-SECRET-KEY-\S+$/m) }
  const passphrase = passphraseOf(input)
  return passphrase === undefined ? undefined : { passphrase }
}

function passphraseOf({ flags, environment }: CommandInput): string | undefined {
  const file = text(flags['passphrase-file'])
  return file === undefined ? nonEmpty(environment.MODELGATE_BACKUP_PASSPHRASE) : lineOf(file, /^.+$/m)
}

/** The first line of the form. Throws where there is none. */
function lineOf(path: string, form: RegExp): string {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    throw new BackupError(`${path} cannot be read: ${(error as Error).message}`)
  }
  const [line] = form.exec(content) ?? []
  if (line === undefined) throw new BackupError(`${path} holds no passphrase or identity; write it into its first line`)
  return line
}
