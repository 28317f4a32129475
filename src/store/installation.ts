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
}

export interface InstallationOptions {
  readonly masterKey?: Secret | undefined
  /** Base64 or any text of 32 characters and more; else one is made and kept in the database. */
  readonly pepper?: Secret | undefined
}

/** Throws with the reason and the remedy when the given master key or pepper is weak. */
export async function openInstallation(database: Database, options: InstallationOptions): Promise<Installation> {
  const pepper = await openPepper(database, options.pepper)
  // An HMAC, as the pepper is its key: half the time and a quarter of the garbage of node:crypto's.
  const hashKey = (keyText: string) => new CryptoHasher('sha256', pepper.reveal()).update(keyText).digest('hex')
  const given = options.masterKey?.reveal()
  if (given !== undefined) checkStrength(given)
  let newMasterKey: string | undefined
  let masterHash: string
  if (given !== undefined) masterHash = hashKey(given)
  else {
    const made = mintKey()
    masterHash = await keepFirst(database, 'master_key_hash', hashKey(made))
    if (masterHash === hashKey(made)) newMasterKey = made
  }
  const masterDigest = Buffer.from(masterHash, 'hex')
  return {
    hashKey,
    isMasterKey: keyText => timingSafeEqual(Buffer.from(hashKey(keyText), 'hex'), masterDigest),
    newMasterKey,
  }
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

function checkStrength(masterKey: string): void {
  const remedy = 'make one with: echo "sk-$(openssl rand -base64 32)", or leave it out and the gateway makes one'
  if (masterKey.length < masterKeyLengthMin)
    throw new Error(`the master key is shorter than ${masterKeyLengthMin} characters; ${remedy}`)
  if (new Set(masterKey.replace(/^sk-/, '')).size < distinctCharactersMin)
    throw new Error(`the master key repeats too few different characters to be random; ${remedy}`)
  if (/^(sk-)?(1234|test|example|changeme|password)/i.test(masterKey))
    throw new Error(`the master key begins like an example from documentation; ${remedy}`)
}
