/** The secrets of one installation: the pepper under which keys are hashed, and the master key (its hash only). */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { CryptoHasher } from 'bun'
import type { SQL } from 'bun'
import { masterKeyProblem, mintKey } from '../../access/key.ts'
import { Secret } from '../../lib/secret.ts'
import { answerInTime, transaction } from '../database/open.ts'
import type { Database } from '../database/open.ts'

const pepperLengthMin = 32
const signatureBytes = 32

/** The use of the installation's two secrets, neither of which can be read from it. */
export interface Installation {
  /** HMAC-SHA256 under the pepper, lower-case hex. */
  hashKey(keyText: string): string
  /** As `hashKey`, of a key that was brought from LiteLLM, of which the SHA-256 alone is known. */
  hashImportedKey(keyText: string): string
  /**
   * Signs what the gateway gives out to be shown again: HMAC-SHA512 under the pepper, 32 bytes of it. Another function
   * than `hashKey`, whose results clients see.
   */
  sign(text: string): Buffer
  /** Constant time in the digests. */
  isMasterKey(keyText: string): boolean
  /** Names the valid master key in the log: the beginning of its hash. */
  masterKeyName(): string
  /**
   * Stores the master key that was given, or that was made because there is none yet. To be called when the gateway
   * listens, so that a start that fails changes nothing. `show` is called once with a key that was made, and prints it
   * before it returns. The key is stored afterwards: after a crash in between, the next start makes and shows another.
   */
  keepMasterKey(show: (madeKey: string | undefined) => void): Promise<KeptMasterKey>
  /**
   * Reads a master key that another replica has stored since. After `keepMasterKey` only. A database with an older key
   * was restored from a backup: the present key is stored again, because a replaced key must not become valid again.
   */
  followMasterKey(): Promise<MasterKeyChange>
  /** The pepper of the database is the one that is used here. */
  isOfDatabase(): Promise<boolean>
  /** For a start while the database is away, see `start-snapshot.ts`; undefined before `keepMasterKey`. */
  snapshot(): InstallationSnapshot | undefined
}

/** What is needed to check keys without the database. */
export interface InstallationSnapshot {
  /** null = it is given by the environment. */
  readonly pepper: string | null
  readonly masterKey: MasterKeyRow
}

/** `followed` = another one is valid from now on. */
type MasterKeyChange = 'none' | 'followed' | 'stored-again'

interface KeptMasterKey {
  /** The key that was made and shown. */
  readonly made: string | undefined
  /** Another master key was stored until now; it is not valid any more. */
  readonly replaced: boolean
}

/** The secrets that the operator gives: MODELGATE_MASTER_KEY and MODELGATE_KEY_PEPPER. */
export interface InstallationOptions {
  /** The master key from now on, trimmed; absent = the stored one, or a new one where none is stored yet. */
  readonly masterKey?: Secret | undefined
  /** Any text of at least 32 characters; absent = one is made and stored in the database. */
  readonly pepper?: Secret | undefined
}

const masterKeyRow = 'master_key_hash'
const pepperRow = 'pepper'
/** Counts the master keys that this installation has had. */
const revisionRow = 'master_key_revision'
const nameLength = 8

/** Throws with the reason and the remedy when the given master key or pepper is weak. */
export async function openInstallation(database: Database, options: InstallationOptions): Promise<Installation> {
  const pepper = await openPepper(database, options.pepper)
  return installationOf(database, options, { pepper, kept: await findMasterKey(database.sql) })
}

/** As `openInstallation`, while the database is away. Throws as that, and where the snapshot lacks the pepper. */
export function restoreInstallation(
  database: Database,
  options: InstallationOptions,
  { pepper, masterKey }: InstallationSnapshot,
): Installation {
  const given = checkedPepper(options.pepper) ?? (pepper === null ? undefined : new Secret(pepper))
  if (given === undefined) throw new Error('MODELGATE_KEY_PEPPER was given at the last start and is needed again')
  return installationOf(database, options, { pepper: given, kept: masterKey })
}

function installationOf(
  database: Database,
  options: InstallationOptions,
  { pepper, kept }: { pepper: Secret; kept: MasterKeyRow | undefined },
): Installation {
  const hashKey = keyHash(pepper)
  // A secret from a file often ends with a line feed, which clients do not send.
  const given = options.masterKey?.reveal().trim()
  const problem = given === undefined ? undefined : masterKeyProblem(given)
  if (problem !== undefined) throw new Error(`the master key ${problem}`)
  const made = given === undefined && kept === undefined ? mintKey() : undefined
  const wantedKey = given ?? made
  let valid = wantedKey === undefined ? kept!.hash : hashKey(wantedKey)
  let digest = Buffer.from(valid, 'hex')
  /** Of the valid key; undefined = it is not stored yet. */
  let revision: number | undefined
  const use = (hash: string) => {
    valid = hash
    digest = Buffer.from(hash, 'hex')
  }
  return {
    hashKey,
    hashImportedKey: keyText => hashOfDigest(pepper)(new CryptoHasher('sha256').update(keyText).digest('hex')),
    sign: text => new CryptoHasher('sha512', pepper.reveal()).update(text).digest().subarray(0, signatureBytes),
    isMasterKey: keyText => timingSafeEqual(Buffer.from(hashKey(keyText), 'hex'), digest),
    masterKeyName: () => valid.slice(0, nameLength),
    async keepMasterKey(show) {
      const { before, now } = await keep(database, {
        hash: valid,
        isGiven: given !== undefined,
        show: isFirst => show(isFirst ? made : undefined),
      })
      const replaced = given !== undefined && before !== undefined && before.hash !== valid
      revision = now.revision
      // Another replica may have stored its key first: then that one is valid, and ours is not shown.
      use(now.hash)
      return { made: before === undefined ? made : undefined, replaced }
    },
    async followMasterKey() {
      if (revision === undefined) return 'none'
      const found = await answerInTime(findMasterKey(database.sql))
      if (found?.revision === revision) return 'none'
      if (found !== undefined && found.revision > revision) {
        revision = found.revision
        const isOther = found.hash !== valid
        use(found.hash)
        return isOther ? 'followed' : 'none'
      }
      revision = await storeAgain(database, { hash: valid, revision })
      return 'stored-again'
    },
    isOfDatabase: async () =>
      options.pepper !== undefined || (await answerInTime(find(database.sql, 'pepper'))) === pepper.reveal(),
    snapshot: () =>
      revision === undefined
        ? undefined
        : { pepper: options.pepper ? null : pepper.reveal(), masterKey: { hash: valid, revision } },
  }
}

/**
 * Makes a new master key in place of the stored one. `show` prints it before it is stored. Running gateways follow
 * within a second. Throws where there is none yet, or where keys are hashed under a pepper that was not given.
 */
export async function resetMasterKey(
  database: Database,
  pepper: Secret | undefined,
  show: (madeKey: string) => void,
): Promise<void> {
  const kept = await findMasterKey(database.sql)
  if (kept === undefined) throw new Error('there is no master key yet; the first start of the gateway shows one')
  if (pepper === undefined && (await find(database.sql, pepperRow)) === undefined)
    throw new Error(
      'the keys of this database are hashed under a pepper of its own; set the MODELGATE_KEY_PEPPER of the gateway',
    )
  const made = mintKey()
  const installation = await openInstallation(database, { masterKey: new Secret(made), pepper })
  await installation.keepMasterKey(() => show(made))
}

interface MasterKeyRow {
  readonly hash: string
  readonly revision: number
}

async function findMasterKey(sql: SQL): Promise<MasterKeyRow | undefined> {
  const rows = (await sql`select name, value from installation where name in (${masterKeyRow}, ${revisionRow})`) as {
    name: string
    value: string
  }[]
  const storedValue = (name: string) => rows.find(row => row.name === name)?.value
  const hash = storedValue(masterKeyRow)
  return hash === undefined ? undefined : { hash, revision: Number(storedValue(revisionRow) ?? 0) }
}

async function write(tx: SQL, { hash, revision }: MasterKeyRow): Promise<void> {
  for (const [name, value] of [
    [masterKeyRow, hash],
    [revisionRow, String(revision)],
  ])
    await tx`
      insert into installation (name, value) values (${name}, ${value})
      on conflict (name) do update set value = excluded.value`
}

/** The stored key before and after. Replicas that start at the same time wait for each other. */
function keep(
  database: Database,
  { hash, isGiven, show }: { hash: string; isGiven: boolean; show(isFirst: boolean): void },
) {
  return transaction(database, async (tx): Promise<{ before: MasterKeyRow | undefined; now: MasterKeyRow }> => {
    // Locks the row, whether it is there or not.
    const inserted = (await tx`
      insert into installation (name, value) values (${masterKeyRow}, ${hash}) on conflict (name) do nothing
      returning name`) as unknown[]
    const before = inserted.length > 0 ? undefined : await findMasterKey(tx)
    show(before === undefined)
    const isOther = before === undefined || (isGiven && before.hash !== hash)
    const now = isOther ? { hash, revision: (before?.revision ?? 0) + 1 } : before
    if (isOther) await write(tx, now)
    return { before, now }
  })
}

/** Replaces an older key, unless another replica has done so. Returns the stored revision. */
function storeAgain(database: Database, { hash, revision }: MasterKeyRow): Promise<number> {
  return transaction(database, async tx => {
    const found = await findMasterKey(tx)
    if (found !== undefined && found.revision > revision) return revision
    await write(tx, { hash, revision: revision + 1 })
    return revision + 1
  })
}

/** The hash of keys alone, where the master key is not needed. */
export async function openKeyHash(
  database: Database,
  givenPepper: Secret | undefined,
): Promise<Installation['hashKey']> {
  return keyHash(await openPepper(database, givenPepper))
}

function keyHash(pepper: Secret): Installation['hashKey'] {
  // With a key, CryptoHasher computes an HMAC: half the time and a quarter of the garbage of node:crypto; a copy saves
  // the work on the pepper.
  const hasher = new CryptoHasher('sha256', pepper.reveal())
  return keyText => hasher.copy().update(keyText).digest('hex')
}

/** The hash of a key of LiteLLM from the SHA-256 of its text, lower-case hex. */
export async function openImportedKeyHash(
  database: Database,
  givenPepper: Secret | undefined,
): Promise<(digest: string) => string> {
  return hashOfDigest(await openPepper(database, givenPepper))
}

/**
 * Another function than `hashKey`: LiteLLM shows the SHA-256 of keys in its pages and logs, so that it must not be a
 * key itself.
 */
function hashOfDigest(pepper: Secret): (digest: string) => string {
  return digest =>
    new CryptoHasher('sha512', pepper.reveal()).update(`litellm-key:${digest}`).digest('hex').slice(0, 64)
}

async function openPepper(database: Database, given: Secret | undefined): Promise<Secret> {
  return checkedPepper(given) ?? new Secret(await keepFirst(database, pepperRow, randomBytes(32).toString('base64')))
}

function checkedPepper(given: Secret | undefined): Secret | undefined {
  if (given !== undefined && given.reveal().length < pepperLengthMin)
    throw new Error(
      `MODELGATE_KEY_PEPPER is shorter than ${pepperLengthMin} characters; make one with: openssl rand -base64 32`,
    )
  return given
}

/** Stores the value unless one is there; returns what is stored. Many replicas may start at once. */
async function keepFirst({ sql }: Database, name: string, value: string): Promise<string> {
  await sql`insert into installation (name, value) values (${name}, ${value}) on conflict (name) do nothing`
  return (await find(sql, name))!
}

async function find(sql: SQL, name: string): Promise<string | undefined> {
  const rows = (await sql`select value from installation where name = ${name}`) as { value: string }[]
  return rows[0]?.value
}
