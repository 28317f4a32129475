/**
 * What LiteLLM encrypts in its database: values of models and credentials, each for itself, under the SHA-256 of its
 * salt key. Sources: LiteLLM's `encrypt_decrypt_utils.py` (1.82 to 1.108): NaCl's secretbox in base64url, or
 * `v2:gcm:` and AES-256-GCM.
 */
import { createDecipheriv, createHash } from 'node:crypto'
import { openSecretbox } from '../../lib/secretbox.ts'

const gcmPrefix = 'v2:gcm:'
const [nonceBytes, tagBytes] = [12, 16]
/** A nonce and a tag of a secretbox, in base64. */
const boxLengthMin = 54

/** Fields in plain text, or what prevents it. */
export type OpenedFields = { readonly fields: Readonly<Record<string, unknown>> } | { readonly problem: string }

/**
 * Opens the texts among the fields; what is not encrypted stays. `saltKey` = LiteLLM's `LITELLM_SALT_KEY`, or its
 * master key where it had none; undefined = not known.
 */
export function openFields(stored: Readonly<Record<string, unknown>>, saltKey: string | undefined): OpenedFields {
  const key = saltKey === undefined ? undefined : createHash('sha256').update(saltKey).digest()
  const fields: Record<string, unknown> = {}
  let [opened, closed] = [0, 0]
  for (const [name, value] of Object.entries(stored)) {
    const text = typeof value === 'string' && key !== undefined ? openText(value, key) : undefined
    if (text !== undefined) opened++
    else if (typeof value === 'string' && looksSealed(value)) closed++
    fields[name] = text ?? value
  }
  // Beside values that the key opens others are plain, however they look: keys of vendors look like boxes.
  if (closed === 0 || opened > 0) return { fields }
  return {
    problem:
      key === undefined
        ? "it is encrypted: set LITELLM_DATABASE_SALT_KEY to LiteLLM's LITELLM_SALT_KEY, or to its master key"
        : 'LITELLM_DATABASE_SALT_KEY is not the key that it is encrypted under',
  }
}

const looksSealed = (text: string): boolean =>
  text.startsWith(gcmPrefix) || (text.length >= boxLengthMin && /^[A-Za-z0-9_-]+={0,2}$/.test(text))

function openText(text: string, key: Buffer): string | undefined {
  if (!text.startsWith(gcmPrefix)) return openSecretbox(Buffer.from(text, 'base64url'), key)?.toString('utf8')
  const sealed = Buffer.from(text.slice(gcmPrefix.length), 'base64url')
  if (sealed.length < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
