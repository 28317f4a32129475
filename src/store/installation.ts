/** The secrets of one installation: the pepper under which keys are hashed, and the master key (its hash only). */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { CryptoHasher } from 'bun'
import type { SQL } from 'bun'
import { mintKey } from '../accounts/key.ts'
import { Secret } from '../lib/secret.ts'
import { answerInTime, transaction } from './open.ts'
import type { Database } from './open.ts'

const masterKeyLengthMin = 32
const distinctCharactersMin = 10

export interface Installation {
  /** HMAC-SHA256 under the pepper, lower-case hex. */
  hashKey(keyText: string): string
  /** Constant time in the digests. */
  isMasterKey(keyText: string): boolean
  /** Which master key is valid, for the log: part of its hash, of no use to anybody else. */
  masterKeyName(): string
  /**
   * Stores the master key that was given, or made at the first start of all. To be called once the gateway listens: a
   * start that fails changes nothing. `show` is called once; it gets a key that was made and writes it out before it
   * returns. Only then is it stored, so a process that ends in between loses no key: the next start shows another.
   */
  keepMasterKey(show: (madeKey: string | undefined) => void): Promise<KeptMasterKey>
  /** Learns of a master key that another replica has stored. After `keepMasterKey` only; true = it is another one now. */
  followMasterKey(): Promise<boolean>
}

export interface KeptMasterKey {
  /** The key that was made and shown. */
  readonly made: string | undefined
  /** Another master key was kept until now; it is no longer one, whatever the next start is given. */
  readonly replaced: boolean
}

export interface InstallationOptions {
  /** The master key from now on; absent = the one that is kept, and at the first start of all a new one. */
  readonly masterKey?: Secret | undefined
  /** Base64 or any text of 32 characters and more; else one is made and kept in the database. */
  readonly pepper?: Secret | undefined
}

const masterKeyRow = 'master_key_hash'
const nameLength = 8

/** Throws with the reason and the remedy when the given master key or pepper is weak. */
export async function openInstallation(database: Database, options: InstallationOptions): Promise<Installation> {
  const hashKey = await openKeyHash(database, options.pepper)
  // A secret from a file or a mounted volume often ends with a line end, and clients send their key without it.
  const given = options.masterKey?.reveal().trim()
  if (given !== undefined) checkStrength(given)
  const kept = await find(database.sql, masterKeyRow)
  const made = given === undefined && kept === undefined ? mintKey() : undefined
  const asked = given ?? made
  let valid = asked === undefined ? kept! : hashKey(asked)
  let digest = Buffer.from(valid, 'hex')
  let isKept = false
  const use = (hash: string) => {
    valid = hash
    digest = Buffer.from(hash, 'hex')
  }
  return {
    hashKey,
    isMasterKey: keyText => timingSafeEqual(Buffer.from(hashKey(keyText), 'hex'), digest),
    masterKeyName: () => valid.slice(0, nameLength),
    async keepMasterKey(show) {
      const before = await keep(database, { hash: valid, isGiven: given !== undefined, show: isFirst => show(isFirst ? made : undefined) })
      isKept = true
      // Another replica was faster: its key is the one, and ours is never shown.
      if (given === undefined && before !== undefined) use(before)
      return { made: before === undefined ? made : undefined, replaced: given !== undefined && before !== undefined && before !== valid }
    },
    async followMasterKey() {
      const now = isKept ? await answerInTime(find(database.sql, masterKeyRow)) : undefined
      if (now === undefined || now === valid) return false
      use(now)
      return true
    },
  }
}

/** Returns the hash that was kept until now. Of replicas that start at once each waits for the one before. */
function keep(database: Database, { hash, isGiven, show }: { hash: string; isGiven: boolean; show(isFirst: boolean): void }): Promise<string | undefined> {
  return transaction(database, async tx => {
    const inserted = (await tx`
      insert into installation (name, value) values (${masterKeyRow}, ${hash}) on conflict (name) do nothing
      returning name`) as unknown[]
    const before = inserted.length > 0 ? undefined : await find(tx, masterKeyRow)
    show(before === undefined)
    if (before !== undefined && isGiven) await tx`update installation set value = ${hash} where name = ${masterKeyRow}`
    return before
  })
}

/** How keys are hashed here, for who has nothing to do with the master key. */
export async function openKeyHash(database: Database, givenPepper: Secret | undefined): Promise<Installation['hashKey']> {
  const pepper = await openPepper(database, givenPepper)
  // An HMAC, as the pepper is its key: half the time and a quarter of the garbage of node:crypto's.
  return keyText => new CryptoHasher('sha256', pepper.reveal()).update(keyText).digest('hex')
}

async function openPepper(database: Database, given: Secret | undefined): Promise<Secret> {
  if (!given) return new Secret(await keepFirst(database, 'pepper', randomBytes(32).toString('base64')))
  if (given.reveal().length < masterKeyLengthMin)
    throw new Error(`MODELGATE_KEY_PEPPER is shorter than ${masterKeyLengthMin} characters; make one with: openssl rand -base64 32`)
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

function checkStrength(masterKey: string): void {
  const remedy = 'make one with: echo "sk-$(openssl rand -base64 32)", or leave it out and the gateway makes one'
  if (/[^\x21-\x7e]/.test(masterKey))
    throw new Error(`the master key holds a space, a line end or a character beyond ASCII, so that no client can send it; ${remedy}`)
  if (masterKey.length < masterKeyLengthMin)
    throw new Error(`the master key is shorter than ${masterKeyLengthMin} characters; ${remedy}`)
  if (new Set(masterKey.replace(/^sk-/, '')).size < distinctCharactersMin)
    throw new Error(`the master key repeats too few different characters to be random; ${remedy}`)
  if (/^(sk-)?(1234|test|example|changeme|password)/i.test(masterKey))
    throw new Error(`the master key begins like an example from documentation; ${remedy}`)
}
