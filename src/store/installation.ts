/** The secrets of one installation: the pepper under which keys are hashed, and the master key (its hash only). */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { CryptoHasher } from 'bun'
import { mintKey } from '../accounts/key.ts'
import { Secret } from '../lib/secret.ts'
import type { Database } from './open.ts'

const masterKeyLengthMin = 32
const distinctCharactersMin = 10

export interface Installation {
  /** HMAC-SHA256 under the pepper, lower-case hex. */
  hashKey(keyText: string): string
  /** Constant time in the digests. */
  isMasterKey(keyText: string): boolean
  /** Text of a master key that was made just now: to be shown once. */
  readonly newMasterKey: string | undefined
  /** Another master key was kept until now; it is no longer one, whatever the next start is given. */
  readonly replacedMasterKey: boolean
}

export interface InstallationOptions {
  /** The master key from now on; absent = the one that is kept, and at the first start of all a new one. */
  readonly masterKey?: Secret | undefined
  /** Base64 or any text of 32 characters and more; else one is made and kept in the database. */
  readonly pepper?: Secret | undefined
}

/** Throws with the reason and the remedy when the given master key or pepper is weak. */
export async function openInstallation(database: Database, options: InstallationOptions): Promise<Installation> {
  const hashKey = await openKeyHash(database, options.pepper)
  const given = options.masterKey?.reveal()
  if (given !== undefined) checkStrength(given)
  const made = given === undefined ? mintKey() : undefined
  const asked = hashKey(given ?? made!)
  const kept = await keepFirst(database, masterKeyName, asked)
  const replacedMasterKey = given !== undefined && kept !== asked
  if (replacedMasterKey) await replace(database, masterKeyName, asked)
  const masterDigest = Buffer.from(given === undefined ? kept : asked, 'hex')
  return {
    hashKey,
    isMasterKey: keyText => timingSafeEqual(Buffer.from(hashKey(keyText), 'hex'), masterDigest),
    newMasterKey: kept === asked ? made : undefined,
    replacedMasterKey,
  }
}

const masterKeyName = 'master_key_hash'

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
async function keepFirst(database: Database, name: string, value: string): Promise<string> {
  const { sql } = database
  await sql`insert into installation (name, value) values (${name}, ${value}) on conflict (name) do nothing`
  const rows = (await sql`select value from installation where name = ${name}`) as { value: string }[]
  return rows[0]!.value
}

async function replace(database: Database, name: string, value: string): Promise<void> {
  await database.sql`update installation set value = ${value} where name = ${name}`
}

function checkStrength(masterKey: string): void {
  const remedy = 'make one with: echo "sk-$(openssl rand -base64 32)", or leave it out and the gateway makes one'
  if (masterKey.length < masterKeyLengthMin)
    throw new Error(`the master key is shorter than ${masterKeyLengthMin} characters; ${remedy}`)
  if (new Set(masterKey.replace(/^sk-/, '')).size < distinctCharactersMin)
    throw new Error(`the master key repeats too few different characters to be random; ${remedy}`)
  if (/^(sk-)?(1234|test|example|changeme|password)/i.test(masterKey))
    throw new Error(`the master key begins like an example from documentation; ${remedy}`)
}
