/**
 * Reasoning of OpenAI's Responses on its way through clients (API reference, "Reasoning", `encrypted_content`). OpenAI
 * wants the item back with its id and its encrypted content, which only the account that made it can read. Both travel
 * as the signature of the thinking, in the form that other vendors' signatures have:
 *
 *     openai/item/<account, six digits>/<id>/<encrypted content>
 */
import { createHash } from 'node:crypto'
import type { Target } from '../../../core/provider.ts'

/** A reasoning item that can be sent back. */
interface EncryptedItem {
  readonly id: string
  readonly encrypted: string
}

const placed = /^openai\/item\/(\d{6})\/([^/]{0,200})\//

/** The signature as clients get it; `readItem` is the inverse. */
export function itemSignature({ id, encrypted }: EncryptedItem, account: string): string {
  return `openai/item/${account}/${id.replaceAll('/', '_')}/${encrypted}`
}

/** Undefined = not of this account, which could not read it. */
export function readItem(signature: string | undefined, account: string): EncryptedItem | undefined {
  const head = signature === undefined ? null : placed.exec(signature)
  if (!head || head[1] !== account) return undefined
  return { id: head[2]!, encrypted: signature!.slice(head[0].length) }
}

/** Six digits for the host and the organisation, or the key where none is configured. The key does not follow. */
export function accountOf({ baseUrl, apiKey, options }: Target): string {
  const owner = typeof options.organization === 'string' ? options.organization : (apiKey?.reveal() ?? '')
  const digest = createHash('sha256').update(`${baseUrl}\n${owner}`).digest()
  return String(digest.readUInt32BE(0) % 1_000_000).padStart(6, '0')
}
