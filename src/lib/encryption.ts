/**
 * Encrypts texts that are stored: AES-256-GCM with the id of the key in front, so that several keys can be valid while
 * one replaces another. Each text has a key and a nonce of its own (derived with 128 random bits), so that the number
 * of texts under one secret is not limited by GCM's nonce of 96 bits (NIST SP 800-38D, 8.3: 2^32 texts).
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { Secret } from './secret.ts'

const format = 'v1'
const algorithm = 'aes-256-gcm'
const saltBytes = 16
const nonceBytes = 12
const tagBytes = 16
const secretLengthMin = 32

/** `unknown-key` = it was sealed under a key that is not in the ring; `damaged` = anything else. */
type DecryptionFailure = 'unknown-key' | 'damaged'

/** Why a sealed text cannot be opened. The message has no content of it. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError'
  readonly reason: DecryptionFailure

  constructor(reason: DecryptionFailure, message: string) {
    super(message)
    this.reason = reason
  }
}

interface DerivedKey {
  readonly id: string
  readonly key: Buffer
}

/** Derives a key from a secret text of at least 32 characters (HKDF-SHA256, RFC 5869). Throws for a shorter one. */
function derive(secret: Secret): DerivedKey {
  const text = secret.reveal()
  if (text.length < secretLengthMin)
    throw new Error(
      `an encryption key is shorter than ${secretLengthMin} characters; make one with: openssl rand -base64 32`,
    )
  const part = (info: string, length: number) =>
    Buffer.from(hkdfSync('sha256', text, '', `modelgate encryption at rest: ${info}`, length))
  // The id is an output of its own, which says nothing about the key.
  return { id: part('id', 4).toString('hex'), key: part('key', 32) }
}

/** Keys for stored texts: the first encrypts, all decrypt. */
export class KeyRing {
  readonly #keys: readonly DerivedKey[]

  /** Throws without a secret, and for one shorter than 32 characters. */
  constructor(secrets: readonly Secret[]) {
    if (secrets.length === 0) throw new Error('a key ring needs at least one key')
    this.#keys = secrets.map(derive)
  }

  /** Public name of the key that encrypts, 8 hexadecimal digits. */
  get currentId(): string {
    return this.#keys[0]!.id
  }

  /** The public names of all keys. */
  get ids(): readonly string[] {
    return this.#keys.map(one => one.id)
  }

  /**
   * Encrypts a text as `v1:<key id>:<base64url>`. `context` (associated data, RFC 5116) is authenticated with it:
   * `table:row id`; a text that is moved to another row cannot be opened.
   */
  seal(plain: string | Uint8Array, context: string): string {
    const [{ id, key }] = this.#keys as [DerivedKey]
    const random = randomBytes(saltBytes + nonceBytes)
    const cipher = createCipheriv(algorithm, keyOfText(key, random), random.subarray(saltBytes), {
      authTagLength: tagBytes,
    })
    cipher.setAAD(associated(id, context))
    const bytes = Buffer.concat([random, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    return `${format}:${id}:${bytes.toString('base64url')}`
  }

  /**
   * Returns the plain bytes. Throws DecryptionError for a foreign key, another context, and bytes that were changed.
   */
  open(sealed: string, context: string): Buffer {
    const [version, id = '', content = ''] = sealed.split(':')
    if (version !== format)
      throw new DecryptionError('damaged', `${context}: this is no encrypted text of this program`)
    const found = this.#keys.find(one => one.id === id)
    if (!found)
      throw new DecryptionError(
        'unknown-key',
        `${context} is encrypted with the key ${id.slice(0, 8)}, which is not configured here`,
      )
    const bytes = Buffer.from(content, 'base64url')
    try {
      const random = bytes.subarray(0, saltBytes + nonceBytes)
      const tagAt = bytes.length - tagBytes
      const decipher = createDecipheriv(algorithm, keyOfText(found.key, random), random.subarray(saltBytes), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(associated(id, context))
      decipher.setAuthTag(bytes.subarray(tagAt))
      return Buffer.concat([decipher.update(bytes.subarray(random.length, tagAt)), decipher.final()])
    } catch {
      throw new DecryptionError(
        'damaged',
        `${context} cannot be decrypted: it was changed, or belongs to another place`,
      )
    }
  }
}

/** The id of the key that a text is sealed under; undefined = it is no sealed text. */
export function keyIdOf(sealed: string): string | undefined {
  const [version, id, content] = sealed.split(':')
  return version === format && content !== undefined ? id : undefined
}

/** The first 128 random bits make a key for one text alone. */
function keyOfText(key: Buffer, random: Buffer): Buffer {
  return createHmac('sha256', key).update(random.subarray(0, saltBytes)).digest()
}

const associated = (id: string, context: string): Buffer => Buffer.from(`${format}:${id}:${context}`)
