/** Manages keys directly in the database, without the HTTP API. A running gateway sees changes within a second. */
import { randomUUIDv7 } from 'bun'
import { keyProblem, mintKey } from '../access/key.ts'
import { newKey } from '../access/fields/key-bounds.ts'
import { spendingProblem } from '../access/fields/spending.ts'
import { keyBody } from '../access/fields/key-fields.ts'
import type { KeyFields } from '../access/fields/key-fields.ts'
import { limitRange } from '../access/fields/checks.ts'
import { newKeysOf } from '../config/sections/new-keys.ts'
import { GatewayError } from '../core/errors.ts'
import { commandLineActor } from '../core/tenancy/actors.ts'
import type { KeyRecord, KeyStore } from '../core/tenancy/keys.ts'
import type { TenancyReader, TenancyStore } from '../core/tenancy/tenancy-store.ts'
import { problemsIn } from '../core/schema-problems.ts'
import { systemClock } from '../lib/clock.ts'
import { openKeyHash, resetMasterKey } from '../store/keys/installation.ts'
import type { Installation } from '../store/keys/installation.ts'
import { createKeyStore } from '../store/keys/keys.ts'
import { createTenancyStore } from '../store/tenancy/store.ts'
import type { Command, CommandInput, Flag, FlagValues } from './command.ts'
import { print, printError, table, UsageError, writeFully } from './command.ts'
import { withDatabase } from './gateway-database.ts'
import { generalSettings, readConfig } from './file-settings.ts'
import { configFile, configFlag, dataFlag, jsonFlag, nonEmpty } from './options.ts'

const listMax = 1000

type NewKeyRecord = ReturnType<typeof newKey>

interface Keys extends KeyStore {
  readonly change: TenancyStore['change']
}
type KeyWork<T> = (keys: Keys, hashKey: Installation['hashKey']) => Promise<T>
/** Who changes keys here, for the audit log. */

function withKeys<T>(input: CommandInput, work: KeyWork<T>): Promise<T> {
  return withDatabase(input, async ({ database, pepper }) =>
    work(
      { ...createKeyStore(database), change: createTenancyStore({ database, clock: systemClock }).change },
      await openKeyHash(database, pepper),
    ),
  )
}

/** A flag of `keys create` with its field of `POST /key/generate`; the same rules apply. */
interface FieldFlag extends Flag {
  readonly field: keyof KeyFields
}

const ofField = (field: keyof KeyFields, value: string, help: string): FieldFlag => ({
  field,
  type: 'string',
  value,
  help,
})

const fieldFlags: Readonly<Record<string, FieldFlag>> = {
  alias: ofField('key_alias', 'NAME', 'A name for lists'),
  user: ofField('user_id', 'ID', 'Its owner: the user it belongs to'),
  team: ofField('team_id', 'ID', 'The team it belongs to, whose models and budget bind it'),
  model: { ...ofField('models', 'NAME', 'A model it may use; again for more; none = all'), multiple: true },
  duration: ofField('duration', '30d', 'Time to live, after which it expires; none = for ever'),
  budget: ofField('max_budget', 'USD', 'Dollars it may spend, in each period where --period is given'),
  period: ofField('budget_duration', '30d', 'After which time the budget begins anew'),
  'soft-budget': ofField('soft_budget', 'USD', 'Dollars from which on alerts are sent'),
  'named-budget': ofField('budget_id', 'ID', 'The budget with limits that several share'),
  rpm: ofField('rpm_limit', 'N', 'Requests a minute'),
  tpm: ofField('tpm_limit', 'N', 'Tokens a minute'),
  parallel: ofField('max_parallel_requests', 'N', 'Requests at once'),
  tag: { ...ofField('tags', 'NAME', 'A tag that its calls carry; again for more'), multiple: true },
}

const flagOf = (field: unknown): string | undefined =>
  Object.keys(fieldFlags).find(flag => fieldFlags[flag]!.field === field)

const limitFields: ReadonlySet<string> = new Set(['rpm_limit', 'tpm_limit', 'max_parallel_requests'])

/** Throws UsageError with one line for each invalid flag. */
function fieldsOf(flags: FlagValues): KeyFields {
  const given = Object.entries(fieldFlags).flatMap(([flag, { field }]) => {
    const value = flags[flag]
    if (value === undefined) return []
    return [[field, limitFields.has(field) ? wholeNumber(value) : value] as const]
  })
  const fields = Object.fromEntries(given)
  const result = keyBody().safeParse(fields)
  if (result.success) return result.data
  const lines = problemsIn(result.error.issues, fields, 'body').map(({ loc, msg }) => {
    const [, field, at] = loc
    const flag = flagOf(field)!
    const value = flags[flag]
    const why = limitFields.has(String(field)) ? limitRange : msg
    return `--${flag} ${why}; got ${quoted(Array.isArray(value) ? value[Number(at)] : value)}`
  })
  throw new UsageError(lines.join('\n'))
}

/** Throws UsageError for flags that need each other. The configuration may give a budget, too. */
function checkSpending(record: NewKeyRecord, nowMs: number): void {
  const { maxBudgetNanoUsd: max, softBudgetNanoUsd: soft, budgetId, budgetDuration: period } = record
  if (period !== null && max === null && soft === null && budgetId === null)
    throw new UsageError('--period has no effect without a budget; give one with --budget')
  const problem = spendingProblem(record, { before: {}, nowMs })
  if (problem)
    throw new UsageError(problem.msg.replace(/\b[a-z]+(_[a-z]+)+\b/g, field => `--${flagOf(field) ?? field}`))
}

/** Throws UsageError with one line for each field that is above its bound. */
function withinBounds<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof GatewayError) || !error.problems) throw error
    const lines = error.problems.map(({ loc: [, field], msg }) => {
      const flag = flagOf(field)
      return `${flag ? `--${flag}` : String(field)} ${msg}`
    })
    throw new UsageError(lines.join('\n'))
  }
}

/** As the API: throws for a team that is not there, and says which other part of the key has no effect. */
async function checkNamed(tx: TenancyReader, { userId, teamId, budgetId }: NewKeyRecord): Promise<string[]> {
  if (teamId !== null && !(await tx.find('team', teamId)))
    throw new GatewayError('not-found', `there is no team '${teamId}'; make it first, in the pages or by /team/new`)
  const notes: string[] = []
  for (const [kind, id] of [
    ['user', userId],
    ['budget', budgetId],
  ] as const)
    if (id !== null && !(await tx.find(kind, id)))
      notes.push(`note: there is no ${kind} '${id}', so that nothing of it holds for this key; make one`)
  return notes
}

/** Accepts digits only: `1e3` and ` 5` are more likely typing errors. */
function wholeNumber(value: FlagValues[string]): number {
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : Number.NaN
}

const shownCharactersMax = 60

/** One line, shortened. */
function quoted(value: unknown): string {
  const text = String(value)
  if (text.length > shownCharactersMax) return `${text.length} characters`
  return `'${JSON.stringify(text).slice(1, -1)}'`
}

/** Prints the key, which cannot be shown again; with `--json` also its id. */
export const keysCreate: Command = {
  name: 'keys create',
  summary: 'Create a virtual key and show it once',
  flags: {
    ...fieldFlags,
    config: configFlag,
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run(input) {
    const { flags, environment } = input
    const keyText = mintKey()
    const fields = fieldsOf(flags)
    const { general_settings: general, settings = {} } = await readConfig(flags, environment)
    const nowMs = systemClock.epochMs()
    // Validates before the database is opened: an invalid flag changes nothing.
    const record = withinBounds(() =>
      newKey({ id: randomUUIDv7(), keyText, fields, nowMs, settings: newKeysOf(settings) }),
    )
    checkSpending(record, nowMs)
    const keysOfUserMax = record.userId === null ? null : (general?.max_keys_per_user ?? null)
    const notes = await withKeys(input, (keys, hashKey) =>
      keys.change(commandLineActor, async tx => {
        const found = await checkNamed(tx, record)
        await tx.insertKey({ ...record, hash: hashKey(keyText) }, keysOfUserMax)
        return found
      }),
    )
    for (const note of notes) printError(note)
    if (configFile(flags, environment) === undefined)
      printError(
        'note: no configuration was read, so that max_keys_per_user and the bounds of keys were not checked; name it ' +
          'with --config or MODELGATE_CONFIG',
      )
    print(flags.json ? JSON.stringify({ key: keyText, token_id: record.id }) : keyText)
    return 0
  },
}

/** Lists all keys, newest first. */
export const keysList: Command = {
  name: 'keys list',
  summary: 'List virtual keys',
  flags: { config: configFlag, 'data-dir': dataFlag, json: jsonFlag },
  async run(input) {
    const keys = await withKeys(input, allKeys)
    const nowMs = systemClock.epochMs()
    const date = (ms: number | null) => (ms === null ? '' : new Date(ms).toISOString().slice(0, 16).replace('T', ' '))
    if (input.flags.json)
      print(
        JSON.stringify(
          keys.map(({ hash: _, ...shown }) => shown),
          // Amounts are exact: text, as in the ledger.
          (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
          2,
        ),
      )
    else
      print(
        table(
          ['ID', 'KEY', 'ALIAS', 'USER', 'MODELS', 'EXPIRES', 'STATE'],
          keys.map(one => [
            one.id,
            one.hint,
            one.alias ?? '',
            one.userId ?? '',
            modelsText(one),
            date(one.expiresAtMs),
            keyProblem(one, nowMs) ?? 'active',
          ]),
        ),
      )
    return 0
  },
}

/** Newest first. A key created meanwhile shifts the pages by one; the map removes duplicates. */
async function allKeys(store: KeyStore): Promise<KeyRecord[]> {
  const found = new Map<string, KeyRecord>()
  for (let offset = 0; ; offset += listMax) {
    const { keys, total } = await store.list({ limit: listMax, offset })
    for (const key of keys) found.set(key.id, key)
    if (keys.length < listMax || offset + listMax >= total) return [...found.values()]
  }
}

/** Keys of older versions may hold an empty name, which allows no model. */
const modelsText = ({ models }: KeyRecord): string =>
  models.length === 0 ? 'all' : models.map(name => name || "''").join(',')

/**
 * Tries the word as key text, then as id, then as alias. Throws for an unknown key and for an alias of several keys.
 */
export const keysRevoke: Command = {
  name: 'keys revoke',
  summary: 'Delete a key by its id, its alias or its text; it is refused at once',
  arguments: 'KEY',
  flags: { config: configFlag, 'data-dir': dataFlag },
  async run(input) {
    const [named] = input.positionals
    if (named === undefined) throw new UsageError('name the key: modelgate keys revoke ID')
    const gone = await withKeys(input, async (keys, hashKey) => {
      const found =
        (await keys.find({ hash: hashKey(named) })) ??
        (await keys.find({ id: named })) ??
        (await findByAlias(keys, named))
      if (found) await keys.change(commandLineActor, tx => tx.deleteKey(found.id))
      return found !== undefined
    })
    if (!gone) throw new Error(`no key is '${named}'; modelgate keys list shows them`)
    print('revoked')
    return 0
  },
}

/** Several keys may share an alias: then the id is required. */
async function findByAlias(keys: KeyStore, alias: string): Promise<KeyRecord | undefined> {
  const { keys: found, total } = await keys.list({ alias, limit: 2, offset: 0 })
  if (total > 1)
    throw new Error(`${total} keys have the alias '${alias}'; name the one by its id: modelgate keys list shows them`)
  return found[0]
}

/**
 * For an operator who has lost the master key. Access to the database is required, which allows everything anyway. The
 * key is printed once, before it becomes valid.
 */
export const keysResetMaster: Command = {
  name: 'keys reset-master',
  summary: 'Make a new master key and show it once; the one before is refused from then on',
  flags: { config: configFlag, 'data-dir': dataFlag },
  async run(input) {
    const { flags, environment } = input
    const given =
      nonEmpty(environment.MODELGATE_MASTER_KEY) !== undefined
        ? 'MODELGATE_MASTER_KEY'
        : (await generalSettings(flags, environment)).master_key !== undefined && 'general_settings.master_key'
    if (given)
      throw new Error(`the master key is the one in ${given}, which every start of the gateway takes; change it there`)
    await withDatabase(input, ({ database, pepper }) =>
      resetMasterKey(database, pepper, made => showMaster(`${made}\n`)),
    )
    printError(
      'this is the master key from now on, shown once; running gateways know it within a second. One that is started ' +
        'with MODELGATE_MASTER_KEY or general_settings.master_key takes that instead',
    )
    return 0
  },
}

/** Throws where it has no reader: then the key is not made. */
function showMaster(text: string): void {
  try {
    writeFully(text)
  } catch (error) {
    throw new Error(`the new master key cannot be shown, so the one before stays: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
