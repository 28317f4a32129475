/**
 * Sessions of clients that speak a protocol with sessions (2025-11-25 and before). The id is a signed text that every
 * replica can read: nothing is stored, and no session of another key is one.
 */
import { randomUUIDv7 } from 'bun'
import { timingSafeEqual } from 'node:crypto'

type Sign = (text: string) => Buffer

const purpose = 'mcp-session'

/** A new one for the key. */
export function newSessionToken(keyId: string, sign: Sign): string {
  const id = randomUUIDv7('hex').replaceAll('-', '')
  return `${id}.${signature(id, keyId, sign).toString('base64url')}`
}

/** The id of the session; undefined = the token is none of this key. */
export function readSessionToken(token: string, keyId: string, sign: Sign): string | undefined {
  const [id = '', given = ''] = token.split('.')
  if (!/^[0-9a-f]{32}$/.test(id)) return undefined
  const [signed, expected] = [Buffer.from(given, 'base64url'), signature(id, keyId, sign)]
  return signed.length === expected.length && timingSafeEqual(signed, expected) ? id : undefined
}

const signature = (id: string, keyId: string, sign: Sign): Buffer => sign(`${purpose}\n${keyId}\n${id}`)
