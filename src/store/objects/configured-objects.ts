/**
 * Models, credentials and access groups made by API. All of them are held in memory; each change gives the table a new
 * revision, by which other processes follow.
 */
import { randomUUIDv7 } from 'bun'
import type { SQL } from 'bun'
import { secretNamesOf } from '../../core/objects/configured-objects.ts'
import type {
  ConfiguredChange,
  ConfiguredContent,
  ConfiguredKind,
  ConfiguredObject,
  ConfiguredStore,
} from '../../core/objects/configured-objects.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { Clock } from '../../lib/clock.ts'
import { DecryptionError, keyIdOf } from '../../lib/encryption.ts'
import { Secret } from '../../lib/secret.ts'
import { answerInTime, toNumber, transaction, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { MissingEncryptionKey } from '../keys/encryption-keys.ts'
import type { EncryptionKeys } from '../keys/encryption-keys.ts'
import { changeInTime } from '../tenancy/acting.ts'
import { writeAudit } from '../tenancy/audit.ts'

/**
 * Of all kinds together: every replica holds them in memory, and reads a model in about a millisecond when it starts
 * and when its file changes.
 */
const objectsMax = 5000
const revisionRow = 'configured_revision'

interface Row {
  readonly kind: ConfiguredKind
  readonly id: string
  readonly name: string
  readonly body: string
  readonly secrets: string | null
  readonly version: number
  readonly created_at_ms: unknown
  readonly created_by: string
  readonly updated_at_ms: unknown
  readonly updated_by: string
}

/** The content of the table as it was read last, sealed as it is stored. */
export interface ConfiguredSnapshot {
  readonly revision: string
  readonly rows: readonly Row[]
}

interface ConfiguredOptions {
  readonly database: Database
  readonly clock: Clock
  readonly keys: Pick<EncryptionKeys, 'open' | 'ringToEncrypt'>
  /** What was known before, for a start while the database is away. */
  readonly restored?: ConfiguredSnapshot | undefined
}

/** What the encryption binds the secrets of an object to. */
const encryptionContext = ({ kind, id }: Pick<Row, 'kind' | 'id'>): string => `configured_objects:${kind}:${id}`

/** The objects of the table, followed by `poll`. */
export class ConfiguredObjects implements ConfiguredStore {
  readonly #options: ConfiguredOptions
  #snapshot: ConfiguredSnapshot | undefined
  #objects: readonly ConfiguredObject[] = []
  #listeners: (() => void)[] = []

  constructor(options: ConfiguredOptions) {
    this.#options = options
    if (options.restored) this.#take(options.restored)
  }

  objects(): readonly ConfiguredObject[] {
    return this.#objects
  }

  /** The table as it was read last; undefined = it never was. */
  snapshot(): ConfiguredSnapshot | undefined {
    return this.#snapshot
  }

  /** Calls back after each change, of this process or another. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Reads the table if it has changed. Rejects when the database does not answer. */
  async poll(): Promise<void> {
    const { sql } = this.#options.database
    const revision = await answerInTime(revisionOf(sql))
    if (revision === this.#snapshot?.revision) return
    // Rows may be newer than the revision: the next poll then reads them again.
    const rows = (await answerInTime(
      sql`select * from configured_objects order by created_at_ms, id limit ${objectsMax}`,
    )) as Row[]
    this.#take({ revision, rows })
    for (const listener of this.#listeners) listener()
  }

  refresh(): Promise<void> {
    return whileAvailable(this.#options.database, 'models made by API', () => this.poll())
  }

  async insert(content: ConfiguredContent, actor: ChangeActor): Promise<ConfiguredObject> {
    const nowMs = this.#options.clock.epochMs()
    const by = actor.id
    const row: Row = {
      ...this.#contentOf(content),
      version: 1,
      created_at_ms: nowMs,
      created_by: by,
      updated_at_ms: nowMs,
      updated_by: by,
    }
    return this.#change(content, actor, async tx => {
      const counted = (await tx`select count(*) as total from configured_objects`) as { total: unknown }[]
      if (toNumber(counted[0]!.total) >= objectsMax)
        throw new GatewayError('conflict', `there are ${objectsMax} objects made by API, the limit; delete some first`)
      await checkIdIsFree(tx, content)
      await checkNameIsFree(tx, content)
      await tx`insert into configured_objects ${tx(row)}`
      await writeAudit(tx, { ...auditOf(row, actor, nowMs), action: 'created', before: null, after: shown(content) })
    })
  }

  async update(change: ConfiguredChange, actor: ChangeActor): Promise<ConfiguredObject> {
    const { kind, id, version } = change
    const nowMs = this.#options.clock.epochMs()
    const row = {
      ...this.#contentOf(change),
      version: version + 1,
      updated_at_ms: nowMs,
      updated_by: actor.id,
    }
    return this.#change(change, actor, async tx => {
      const before = this.#read(await presentRow(tx, change))
      await checkNameIsFree(tx, change)
      await tx`update configured_objects set ${tx(row)} where kind = ${kind} and id = ${id}`
      const changed = before.secrets?.reveal() !== change.secrets?.reveal() && { secrets_changed: true }
      const values = { before: shown(before), after: { ...shown(change), ...changed } }
      await writeAudit(tx, { ...auditOf(row, actor, nowMs), action: 'updated', ...values })
    })
  }

  async delete(object: Pick<ConfiguredObject, 'kind' | 'id' | 'version'>, actor: ChangeActor): Promise<void> {
    const { kind, id } = object
    const nowMs = this.#options.clock.epochMs()
    await this.#commit(actor, async tx => {
      const before = this.#read(await presentRow(tx, object))
      await tx`delete from configured_objects where kind = ${kind} and id = ${id}`
      await writeAudit(tx, { ...auditOf(object, actor, nowMs), action: 'deleted', before: shown(before), after: null })
    })
  }

  /** Encrypts secrets anew that are under another key than the present one; resolves with their number. */
  async rotate(): Promise<number> {
    const { database, keys } = this.#options
    const ring = keys.ringToEncrypt()
    const sealed = (await database.sql`
      select kind, id, secrets from configured_objects where secrets is not null order by kind, id`) as Row[]
    const old = sealed.filter(row => keyIdOf(row.secrets!) !== ring.currentId)
    for (const { kind, id } of old)
      await transaction(database, async tx => {
        // Its lock keeps changes of the row away.
        await renew(tx)
        const [row] = (await tx`
          select kind, id, secrets from configured_objects where kind = ${kind} and id = ${id}`) as Row[]
        if (!row?.secrets) return
        const anew = ring.seal(keys.open(row.secrets, encryptionContext(row)), encryptionContext(row))
        await tx`update configured_objects set secrets = ${anew} where kind = ${kind} and id = ${id}`
      })
    return old.length
  }

  #contentOf({
    kind,
    id,
    name,
    body,
    secrets,
  }: ConfiguredContent): Pick<Row, 'kind' | 'id' | 'name' | 'body' | 'secrets'> {
    const sealed = secrets === null ? null : this.#seal(secrets, encryptionContext({ kind, id }))
    return { kind, id, name, body: JSON.stringify(body), secrets: sealed }
  }

  #seal(secrets: Secret, context: string): string {
    try {
      return this.#options.keys.ringToEncrypt().seal(secrets.reveal(), context)
    } catch (error) {
      if (error instanceof MissingEncryptionKey) throw new GatewayError('invalid-request', error.message)
      throw error
    }
  }

  async #change(
    { kind, id }: ConfiguredContent,
    actor: ChangeActor,
    work: (tx: SQL) => Promise<void>,
  ): Promise<ConfiguredObject> {
    await this.#commit(actor, work)
    const made = this.#objects.find(one => one.kind === kind && one.id === id)
    if (!made) throw new GatewayError('conflict', 'the object was deleted at the same moment', { param: 'id' })
    return made
  }

  /** After the commit the change is in use here before the promise resolves. */
  async #commit(actor: ChangeActor, work: (tx: SQL) => Promise<void>): Promise<void> {
    const { database, clock } = this.#options
    const run = async (tx: SQL): Promise<void> => {
      // Its lock puts changes one after the other, on all replicas.
      await renew(tx)
      await work(tx)
    }
    await whileAvailable(database, 'models made by API', () =>
      changeInTime({ database, actor, nowMs: clock.epochMs() }, run),
    )
    await this.refresh()
  }

  #take(snapshot: ConfiguredSnapshot): void {
    const known = new Map(
      (this.#snapshot?.rows ?? []).map((row, at) => [encryptionContext(row), { row, object: this.#objects[at]! }]),
    )
    this.#objects = snapshot.rows.map(row => {
      const before = known.get(encryptionContext(row))
      // An object that did not change stays the same, so that its model is not read again.
      const isSame = before?.row.secrets === row.secrets && toNumber(before.row.version) === toNumber(row.version)
      return isSame && before.object.problem === undefined ? before.object : this.#read(row)
    })
    this.#snapshot = snapshot
  }

  #read(row: Row): ConfiguredObject {
    const { kind, id, name } = row
    return {
      kind,
      id,
      name,
      body: JSON.parse(row.body) as Record<string, unknown>,
      ...this.#open(row),
      version: toNumber(row.version),
      createdAtMs: toNumber(row.created_at_ms),
      createdBy: row.created_by,
      updatedAtMs: toNumber(row.updated_at_ms),
      updatedBy: row.updated_by,
    }
  }

  #open(row: Row): Pick<ConfiguredObject, 'secrets' | 'problem'> {
    if (row.secrets === null) return { secrets: null }
    try {
      return { secrets: new Secret(this.#options.keys.open(row.secrets, encryptionContext(row)).toString()) }
    } catch (error) {
      if (error instanceof DecryptionError) return { secrets: null, problem: error.message }
      throw error
    }
  }
}

/** A revision is never used again, so that a database restored from a backup is noticed. */
async function renew(tx: SQL): Promise<void> {
  await tx`
    insert into installation (name, value) values (${revisionRow}, ${randomUUIDv7()})
    on conflict (name) do update set value = excluded.value`
}

async function revisionOf(sql: SQL): Promise<string> {
  const rows = (await sql`select value from installation where name = ${revisionRow}`) as { value: string }[]
  return rows[0]?.value ?? ''
}

/** Throws `conflict`. */
async function checkIdIsFree(tx: SQL, { kind, id }: ConfiguredContent): Promise<void> {
  const known = (await tx`select id from configured_objects where kind = ${kind} and id = ${id}`) as unknown[]
  if (known.length > 0) throw conflict(`there is a ${wordOf(kind)} with this id already; choose another`)
}

/** Throws `conflict` where another object of the kind has the name; names of models may repeat. */
async function checkNameIsFree(tx: SQL, { kind, id, name }: ConfiguredContent): Promise<void> {
  if (kind === 'model') return
  const taken = (await tx`
    select id from configured_objects where kind = ${kind} and name = ${name} and id <> ${id}`) as unknown[]
  if (taken.length > 0) throw conflict(`there is a ${wordOf(kind)} of this name already; choose another, or change it`)
}

/** Throws `not-found`, and `conflict` for another version. */
async function presentRow(tx: SQL, { kind, id, version }: Pick<ConfiguredObject, 'kind' | 'id' | 'version'>) {
  const [row] = (await tx`select * from configured_objects where kind = ${kind} and id = ${id}`) as Row[]
  if (!row) throw new GatewayError('not-found', `this ${wordOf(kind)} does not exist any more`, { param: 'id' })
  if (toNumber(row.version) !== version)
    throw conflict(
      `somebody changed this ${wordOf(kind)} since it was read, so nothing of this change was stored; read it again ` +
        'and repeat the change',
    )
  return row
}

const auditOf = ({ kind, id }: Pick<Row, 'kind' | 'id'>, actor: ChangeActor, atMs: number) => ({
  kind,
  objectId: id,
  actor,
  atMs,
})

/** What the audit log keeps: of secrets only the names of their fields. */
const shown = ({ name, body, secrets }: Pick<ConfiguredContent, 'name' | 'body' | 'secrets'>) => ({
  name,
  ...body,
  secret_fields: secretNamesOf(secrets),
})

const wordOf = (kind: ConfiguredKind): string => kind.replace('_', ' ')

const conflict = (message: string): GatewayError => new GatewayError('conflict', message)
