/**
 * The keys for stored secrets and bodies: given by the environment, or kept in a file of the data directory, never in
 * the database that they protect.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DecryptionError, KeyRing } from '../../lib/encryption.ts'
import { Secret } from '../../lib/secret.ts'
import { errorCode } from '../../lib/error-code.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where keys come from. */
export interface EncryptionOptions {
  /**
   * `MODELGATE_ENCRYPTION_KEY` or LiteLLM's `LITELLM_SALT_KEY` encrypts; `MODELGATE_DECRYPTION_KEYS` are further keys
   * that only decrypt, with commas between.
   */
  readonly environment: Environment
  readonly dataDirectory: string
  /** Several gateways may use the database: a key that this one made alone would be of no use to the others. */
  readonly isShared: boolean
}

/** In the data directory: one key a line, the newest first. */
export const keyFileName = 'encryption-key'
const remedy = 'set MODELGATE_ENCRYPTION_KEY to the same text on every replica; make one with: openssl rand -base64 32'

/** The keys of this installation: those of the environment, or else of a file with one key a line, the newest first. */
export class EncryptionKeys {
  readonly #options: EncryptionOptions
  readonly #isGiven: boolean
  #ring: KeyRing | undefined

  /** Throws where a configured key is too short. */
  constructor(options: EncryptionOptions) {
    this.#options = options
    const given = givenSecrets(options.environment)
    this.#isGiven = given.length > 0
    if (this.#isGiven) this.#ring = new KeyRing(given)
  }

  /** To decrypt; undefined = there are no keys, so nothing was encrypted here. */
  get ring(): KeyRing | undefined {
    return this.#ring ?? this.#readFile()
  }

  /** Opens a sealed text; a key that `addKey` of another process made since is found. Throws DecryptionError. */
  open(sealed: string, context: string): Buffer {
    const missing = () => new DecryptionError('unknown-key', `${context} is encrypted, and there is no key: ${remedy}`)
    try {
      if (!this.ring) throw missing()
      return this.ring.open(sealed, context)
    } catch (error) {
      if (!(error instanceof DecryptionError && error.reason === 'unknown-key') || this.#isGiven) throw error
      const anew = this.#readFile()
      if (!anew) throw error
      return anew.open(sealed, context)
    }
  }

  /**
   * Puts a new key before those of the file; those before it still decrypt. Throws where the keys are given by the
   * environment, which alone can change them.
   */
  addKey(): KeyRing {
    if (this.#isGiven || this.#options.isShared)
      throw new Error(
        'the encryption key is given by the environment: set MODELGATE_ENCRYPTION_KEY to the new one and the one ' +
          'before in MODELGATE_DECRYPTION_KEYS, first on every replica, then here',
      )
    const before = keptText(this.#path)
    const temporary = `${this.#path}.tmp`
    writeFileSync(temporary, `${newSecret()}\n${before ?? ''}`, { mode: 0o600, flush: true })
    renameSync(temporary, this.#path)
    return this.#readFile()!
  }

  #readFile(): KeyRing | undefined {
    if (this.#options.isShared) return undefined
    const kept = (keptText(this.#path) ?? '').split('\n').flatMap(toSecret)
    if (kept.length > 0) this.#ring = new KeyRing([...kept, ...decryptionKeys(this.#options.environment)])
    return this.#ring
  }

  /**
   * To encrypt: makes the file on first use. Throws with the remedy where several gateways share the database and no
   * key is configured.
   */
  ringToEncrypt(): KeyRing {
    const known = this.ring
    if (known) return known
    if (this.#options.isShared) throw new MissingEncryptionKey(`there is no key to encrypt secrets with: ${remedy}`)
    // Under its own name only when it is whole: another worker may read it at this moment.
    const made = `${this.#path}.${randomUUID()}.tmp`
    writeFileSync(made, `${newSecret()}\n`, { mode: 0o600, flag: 'wx', flush: true })
    try {
      linkSync(made, this.#path)
    } catch (error) {
      // Another process made it meanwhile.
      if (errorCode(error) !== 'EEXIST') throw error
    } finally {
      rmSync(made, { force: true })
    }
    return this.ring!
  }

  get #path(): string {
    return join(this.#options.dataDirectory, keyFileName)
  }
}

/** Secrets cannot be stored before a key is configured. */
export class MissingEncryptionKey extends Error {
  override readonly name = 'MissingEncryptionKey'
}

function givenSecrets(environment: Environment): Secret[] {
  const current = [environment.MODELGATE_ENCRYPTION_KEY, environment.LITELLM_SALT_KEY].find(text => text?.trim())
  return current === undefined ? [] : [new Secret(current.trim()), ...decryptionKeys(environment)]
}

function decryptionKeys({ MODELGATE_DECRYPTION_KEYS: list = '' }: Environment): Secret[] {
  return list.split(',').flatMap(toSecret)
}

const toSecret = (text: string): Secret[] => (text.trim() === '' ? [] : [new Secret(text.trim())])

const newSecret = (): string => randomBytes(32).toString('base64')

function keptText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
