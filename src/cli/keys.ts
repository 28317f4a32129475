/** Keys without the HTTP API: straight in the database. A running gateway follows within a second. */
import { randomUUIDv7 } from 'bun'
import { keyHint, mintKey, parseDuration } from '../accounts/key.ts'
import type { KeyRecord, KeyStore } from '../core/ports.ts'
import { systemClock } from '../lib/clock.ts'
import { Secret } from '../lib/secret.ts'
import { openKeyHash } from '../store/installation.ts'
import type { Installation } from '../store/installation.ts'
import { createKeyStore } from '../store/keys.ts'
import { migrate } from '../store/migrate.ts'
import { openDatabase } from '../store/open.ts'
import type { Command, CommandInput, FlagValues } from './command.ts'
import { print, table, UsageError } from './command.ts'
import { explained } from './failures.ts'
import { configFlag, databaseUrl, dataDirectory, dataFlag, generalSettings, jsonFlag, nonEmpty, text } from './options.ts'

const listMax = 1000

async function withKeys<T>(
  { flags, environment }: CommandInput,
  work: (keys: KeyStore, hashKey: Installation['hashKey']) => Promise<T>,
): Promise<T> {
  const used = { databaseUrl: databaseUrl(flags, environment), dataDirectory: dataDirectory(flags, environment) }
  const database = await openDatabase(used.databaseUrl).catch((thrown: unknown) => {
    throw explained(thrown, used)
  })
  try {
    await migrate(database)
    const pepper = nonEmpty(environment.MODELGATE_KEY_PEPPER)
    const hashKey = await openKeyHash(database, pepper === undefined ? undefined : new Secret(pepper))
    return await work(createKeyStore({ database, clock: systemClock }), hashKey)
  } finally {
    await database.close()
  }
}

function number(flags: FlagValues, name: string): number | null {
  const value = text(flags[name])
  if (value === undefined) return null
  const amount = Number(value)
  if (!Number.isInteger(amount) || amount < 1) throw new UsageError(`--${name} must be a whole number from 1; got '${value}'`)
  return amount
}

function expiry(flags: FlagValues, nowMs: number): number | null {
  const duration = text(flags.duration)
  if (duration === undefined) return null
  const ms = parseDuration(duration)
  if (ms === undefined) throw new UsageError(`--duration must be like 45s, 15m, 12h, 30d; got '${duration}'`)
  return nowMs + ms
}

export const keysCreate: Command = {
  name: 'keys create',
  summary: 'Create a virtual key and show it once',
  flags: {
    alias: { type: 'string', value: 'NAME', help: 'A name for lists' },
    user: { type: 'string', value: 'ID', help: 'The user it belongs to' },
    team: { type: 'string', value: 'ID', help: 'The team it belongs to' },
    model: { type: 'string', value: 'NAME', help: 'A model it may use; again for more; none = all', multiple: true },
    duration: { type: 'string', value: '30d', help: 'Time to live' },
    rpm: { type: 'string', value: 'N', help: 'Requests a minute' },
    tpm: { type: 'string', value: 'N', help: 'Tokens a minute' },
    parallel: { type: 'string', value: 'N', help: 'Requests at once' },
    config: configFlag,
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run(input) {
    const { flags, environment } = input
    const keyText = mintKey()
    const nowMs = systemClock.epochMs()
    // Before anything is opened: a wrong flag changes nothing.
    const record: Omit<KeyRecord, 'hash'> = {
      id: randomUUIDv7(),
      hint: keyHint(keyText),
      alias: text(flags.alias) ?? null,
      userId: text(flags.user) ?? null,
      teamId: text(flags.team) ?? null,
      models: Array.isArray(flags.model) ? flags.model : [],
      expiresAtMs: expiry(flags, nowMs),
      blocked: false,
      requestsPerMinute: number(flags, 'rpm'),
      tokensPerMinute: number(flags, 'tpm'),
      parallelRequests: number(flags, 'parallel'),
      metadata: {},
      createdAtMs: nowMs,
      createdBy: 'cli',
      updatedAtMs: nowMs,
    }
    const keysOfUserMax = record.userId === null ? null : (generalSettings(flags, environment).max_keys_per_user ?? null)
    await withKeys(input, (keys, hashKey) => keys.insert({ ...record, hash: hashKey(keyText) }, keysOfUserMax))
    print(flags.json ? JSON.stringify({ key: keyText, token_id: record.id }) : keyText)
    return 0
  },
}

export const keysList: Command = {
  name: 'keys list',
  summary: 'List virtual keys',
  flags: { config: configFlag, 'data-dir': dataFlag, json: jsonFlag },
  async run(input) {
    const { keys } = await withKeys(input, store => store.list({ limit: listMax, offset: 0 }))
    const date = (ms: number | null) => (ms === null ? '' : new Date(ms).toISOString().slice(0, 16).replace('T', ' '))
    if (input.flags.json) print(JSON.stringify(keys.map(({ hash: _, ...shown }) => shown), null, 2))
    else
      print(
        table(
          ['ID', 'KEY', 'ALIAS', 'USER', 'MODELS', 'EXPIRES', 'STATE'],
          keys.map(one => [one.id, one.hint, one.alias ?? '', one.userId ?? '', one.models.join(',') || 'all', date(one.expiresAtMs), one.blocked ? 'blocked' : 'active']),
        ),
      )
    return 0
  },
}

export const keysRevoke: Command = {
  name: 'keys revoke',
  summary: 'Delete a key by its id, its alias or its text; it is refused at once',
  arguments: 'KEY',
  flags: { config: configFlag, 'data-dir': dataFlag },
  async run(input) {
    const [named] = input.positionals
    if (named === undefined) throw new UsageError('name the key: modelgate keys revoke ID')
    const gone = await withKeys(input, async (keys, hashKey) => {
      const found = (await keys.find({ hash: hashKey(named) })) ?? (await keys.find({ id: named })) ?? (await onlyOne(keys, named))
      return found !== undefined && (await keys.delete(found.id))
    })
    if (!gone) throw new Error(`no key is '${named}'; modelgate keys list shows them`)
    print('revoked')
    return 0
  },
}

/** Several keys may share an alias: which of them is meant, nobody may guess. */
async function onlyOne(keys: KeyStore, alias: string): Promise<KeyRecord | undefined> {
  const { keys: found, total } = await keys.list({ alias, limit: 2, offset: 0 })
  if (total > 1) throw new Error(`${total} keys have the alias '${alias}'; name the one by its id: modelgate keys list shows them`)
  return found[0]
}
