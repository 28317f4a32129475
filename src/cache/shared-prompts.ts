/** Prompts that other replicas have answered: each takes from the shared list what was added since its last look. */
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../lib/entry-limit.ts'
import type { SharedAnswers } from '../core/cache/cache-settings.ts'
import type { IndexedPrompt, PromptIndex } from './prompt-index.ts'
import type { Signer } from '../lib/signer.ts'

interface FollowedList {
  /** Of the last entry that was taken over; empty = none. */
  last: string
  /** The next entries are on their way. */
  reading: Promise<boolean> | undefined
}

/** How many prompts a list keeps, and how long. */
interface ListLimits {
  readonly promptsMax: number
  readonly ttlMs: number
}

/** Fills the index of this process from the lists of a shared store, one list a partition. */
export class SharedPrompts {
  readonly #index: PromptIndex
  readonly #sign: Signer
  readonly #followed = new LRUCache<string, FollowedList>(entryLimit(1000))

  constructor(index: PromptIndex, sign: Signer) {
    this.#index = index
    this.#sign = sign
  }

  /** Takes over what is new. A long list is read on beside the call, which compares with what is there until then. */
  async follow(shared: SharedAnswers, partition: string, promptsMax: number): Promise<void> {
    let followed = this.#followed.get(partition)
    if (!followed) this.#followed.set(partition, (followed = { last: '', reading: undefined }))
    const isMore = await this.#read(shared, followed, partition, promptsMax)
    if (isMore) void this.#readOn(shared, followed, partition, promptsMax)
  }

  async add(shared: SharedAnswers, partition: string, prompt: IndexedPrompt, limits: ListLimits): Promise<void> {
    const { key, facts, vector } = prompt
    const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
    await shared.addPrompt(this.#listOf(partition), JSON.stringify([key, facts, bytes.toString('base64')]), limits)
  }

  clear(): void {
    this.#followed.clear()
  }

  async #readOn(shared: SharedAnswers, followed: FollowedList, partition: string, promptsMax: number): Promise<void> {
    while (await this.#read(shared, followed, partition, promptsMax));
  }

  /** true = there is more. Calls at the same time read together. */
  #read(shared: SharedAnswers, followed: FollowedList, partition: string, promptsMax: number): Promise<boolean> {
    const read = async (): Promise<boolean> => {
      const found = await shared.promptsAfter(this.#listOf(partition), followed.last)
      if (!found) return false
      followed.last = found.last
      for (const text of found.texts) {
        const prompt = decoded(text)
        if (prompt) this.#index.add(partition, prompt, promptsMax)
      }
      return found.isMore
    }
    return (followed.reading ??= read().finally(() => (followed.reading = undefined)))
  }

  /** Says nothing of the tenant to those who can read the names of lists. */
  #listOf(partition: string): string {
    return this.#sign(`prompts\n${partition}`).toString('hex')
  }
}

/** undefined = written by another version. */
function decoded(text: string): IndexedPrompt | undefined {
  try {
    const [key, facts, base64] = JSON.parse(text) as [string, string, string]
    const bytes = Uint8Array.from(Buffer.from(base64, 'base64'))
    return { key, facts, vector: new Float32Array(bytes.buffer) }
  } catch {
    return undefined
  }
}
