/** Stored answers of the Responses dialect. Implemented by `store/objects/responses.ts`. */
import type { HoldBytes } from './object-pages.ts'

/** One answer of the Responses dialect, kept for the key that asked for it. */
export interface StoredResponse {
  readonly id: string
  readonly keyId: string
  /** The response it continues; null = it began a conversation. */
  readonly previousId: string | null
  /** The deployment that answered; null = not known (yet). */
  readonly deploymentId: string | null
  /** `queued`, `in_progress`, `completed`, `incomplete`, `failed` or `cancelled`. */
  readonly status: string
  /** Runs, or ran, without a client that waits. */
  readonly background: boolean
  /** The items of this call alone, each with an id. */
  readonly input: readonly Record<string, unknown>[]
  /** The Response object. */
  readonly response: Record<string, unknown>
  /** Milliseconds since 1970. A run in the background renews it every few seconds. */
  readonly updatedAtMs: number
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

/** A stored response to be shown: without its input, and not parsed. */
export interface StoredAnswer extends Pick<StoredResponse, 'status' | 'background' | 'updatedAtMs'> {
  /** The Response object as JSON. */
  readonly json: string
}

/** Names a response among those of all keys: ids are unique per key only, and those of the gateway have no space. */
export function responseName({ keyId, id }: Pick<StoredResponse, 'keyId' | 'id'>): string {
  return `${id} ${keyId}`
}

/** One item of a stored response's output. */
export interface StoredItem {
  readonly item: Record<string, unknown>
  readonly deploymentId: string | null
}

/**
 * Responses by key: those of another key are never returned. All methods but `save` throw `overloaded` when the
 * database is unreachable.
 */
export interface ResponseStore {
  /**
   * Throws `quota-exceeded` when the key has no room for another response. Asks the database only for a key that `save`
   * had no room for, so that answers do not depend on it.
   */
  admit(keyId: string): Promise<void>
  /**
   * `failed` = it could not be kept (the problem has been reported), `no-room` = it is beyond the key's quota; the
   * answer itself is not affected.
   */
  save(record: StoredResponse): Promise<'saved' | 'failed' | 'no-room'>
  /** `hold` as in `conversation`. */
  find(keyId: string, id: string, hold?: HoldBytes): Promise<StoredResponse | undefined>
  /** The same to be shown: however large it is, reading it holds up little else. */
  answer(keyId: string, id: string, hold?: HoldBytes): Promise<StoredAnswer | undefined>
  /** Its input alone, likewise. */
  input(keyId: string, id: string, hold?: HoldBytes): Promise<StoredResponse['input'] | undefined>
  /**
   * A response and those it continues, oldest first; undefined = the conversation is not here as a whole.
   * Throws `too-large` when it has more than `bytesMax` bytes or a thousand turns. `hold` is called with their size
   * before they are read, and may throw.
   */
  conversation(keyId: string, id: string, bytesMax: number, hold?: HoldBytes): Promise<StoredResponse[] | undefined>
  /** Output items by their ids, and the deployment that made each; what is not found is missing in the map. */
  items(keyId: string, ids: readonly string[]): Promise<Map<string, StoredItem>>
  delete(keyId: string, id: string): Promise<boolean>
  /**
   * Replaces the record if it is still queued or in progress. false = it was cancelled or deleted meanwhile, or renewed
   * after `renewedAtMs`.
   */
  finish(record: StoredResponse, renewedAtMs?: number): Promise<boolean>
  /**
   * Marks running responses as alive and in progress, by their names (`responseName`). Their status by name; those that
   * have ended or are gone are left out.
   */
  renew(names: readonly string[], nowMs: number): Promise<ReadonlyMap<string, string>>
}
