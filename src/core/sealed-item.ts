/**
 * The one form of encrypted items that leave the gateway and come back in later requests (compacted conversations, ids
 * of streams, tokens of tools' sessions): `mg1.<purpose>.v1.<key id>.<content>`, safe in addresses and headers. Each is
 * bound to its purpose and to the tenant that it was made for.
 */
import type { KeyRing } from '../lib/encryption.ts'
import { DecryptionError } from '../lib/encryption.ts'
import { storingIdOf } from './caller.ts'
import type { Caller } from './caller.ts'
import { GatewayError } from './errors.ts'

/** Version of the form, which all sealed items begin with. */
const prefix = 'mg1'
/** Of a purpose's name: it stands between the dots of an item. */
const purposeForm = /^[a-z][a-z-]*$/
const signs = 5

/** Why an item cannot be opened; `foreign` = it is another program's, or no sealed item at all. */
export type SealedItemFault = 'foreign' | 'other-version' | 'other-purpose' | 'unknown-key' | 'damaged'

/** What became of opening an item. */
export type OpenedItem = { readonly content: Buffer } | { readonly fault: SealedItemFault; readonly reason: string }

/** Whose items the caller's are: its team's, else its user's, else its key's. No other tenant can open them. */
export function sealingTenantOf(caller: Pick<Caller, 'key'>): string {
  const { teamId, userId } = caller.key
  if (teamId) return `team:${teamId}`
  return userId ? `user:${userId}` : `key:${storingIdOf(caller)}`
}

/** Seals and opens the items of one purpose: `compaction`, `stream`, `tool-session`. */
export class SealedItems {
  readonly #keys: KeyRing
  readonly #purpose: string
  readonly #noun: string

  /** `noun` names an item in sentences for clients: `compaction item`. */
  constructor(keys: KeyRing, purpose: string, noun: string) {
    if (!purposeForm.test(purpose)) throw new Error(`${purpose} does not name the purpose of sealed items`)
    this.#keys = keys
    this.#purpose = purpose
    this.#noun = noun
  }

  /** The item with this content, for `tenant` alone (`sealingTenantOf`). */
  seal(content: string | Uint8Array, tenant: string): string {
    const sealed = this.#keys.seal(content, this.#context(tenant))
    return `${prefix}.${this.#purpose}.${sealed.replaceAll(':', '.')}`
  }

  /** What the item holds, or why it cannot be opened, as a sentence that a client can be shown. */
  open(item: string, tenant: string): OpenedItem {
    const parts = item.split('.')
    const [form, purpose, ...sealed] = parts
    if (!isSealedItem(item) || parts.length !== signs) return this.#foreign(item)
    if (form !== prefix) return this.#fault('other-version', 'was made by another version of the gateway')
    if (purpose !== this.#purpose) return this.#fault('other-purpose', `is an item of another kind (${purpose})`)
    try {
      return { content: this.#keys.open(sealed.join(':'), this.#context(tenant)) }
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error
      return error.reason === 'unknown-key'
        ? this.#fault('unknown-key', 'was encrypted with a key that this gateway does not have')
        : this.#fault('damaged', 'was changed, or was made for another team, user or key')
    }
  }

  /** As `open`. Throws `invalid-request` with the sentence; `param` = the field of the request. */
  opened(item: string, tenant: string, param: string): Buffer {
    const found = this.open(item, tenant)
    if ('content' in found) return found.content
    throw new GatewayError('invalid-request', found.reason, { param, code: 'invalid_encrypted_content' })
  }

  #context(tenant: string): string {
    return `${this.#purpose}:${tenant}`
  }

  #foreign(item: string): OpenedItem {
    return isSealedItem(item)
      ? this.#fault('damaged', 'is not whole')
      : this.#fault('foreign', 'was not made by this gateway')
  }

  #fault(fault: SealedItemFault, what: string): OpenedItem {
    return { fault, reason: `the ${this.#noun} ${what}; begin again without it` }
  }
}

/** true = the text has the form of an item that a gateway of this kind has sealed, of whichever version. */
export const isSealedItem = (text: string): boolean => /^mg\d+\./.test(text)
