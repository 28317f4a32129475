/** The prompts of kept answers by their embeddings, by tenant and model; the nearest is found by looking at all. */
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../lib/entry-limit.ts'

/** A prompt with the key of its answer. */
export interface IndexedPrompt {
  readonly key: string
  /** See `prompt-facts.ts`. */
  readonly facts: string
  /** Of unit length. */
  readonly vector: Float32Array
}

/** A prompt that is near enough and has the same facts. */
export interface NearPrompt {
  /** The key of its answer. */
  readonly key: string
  /** Cosine. */
  readonly similarity: number
}

interface Partition {
  readonly keys: string[]
  readonly facts: string[]
  /** Key -> where it stands. */
  readonly indexByKey: Map<string, number>
  /** Of unit length, one after another. */
  vectors: Float32Array
  /** Where the next prompt goes: the oldest one makes room. */
  next: number
}

/** Tenants and models whose prompts are remembered at the same time. */
const partitionsMax = 1000
const nowhere = ''

/** Bounded by `promptsMax` prompts for each of at most 1,000 partitions. */
export class PromptIndex {
  readonly #partitions = new LRUCache<string, Partition>(entryLimit(partitionsMax))

  /** undefined = none is as near as `similarityMin` and has the same facts. `vector` is of unit length. */
  nearest(partition: string, vector: Float32Array, facts: string, similarityMin: number): NearPrompt | undefined {
    const found = this.#partitions.get(partition)
    const size = vector.length
    if (!found || found.vectors.length % size !== 0) return undefined
    let best: NearPrompt | undefined
    for (let at = 0; at < found.keys.length; at++) {
      if (found.facts[at] !== facts || found.keys[at] === nowhere) continue
      let similarity = 0
      for (let from = at * size, dimension = 0; dimension < size; dimension++)
        similarity += vector[dimension]! * found.vectors[from + dimension]!
      if (similarity >= similarityMin && similarity > (best?.similarity ?? -1))
        best = { key: found.keys[at]!, similarity }
    }
    return best
  }

  add(partition: string, { key, facts, vector }: IndexedPrompt, promptsMax: number): void {
    let found = this.#partitions.get(partition)
    if (!found || found.vectors.length % vector.length !== 0) {
      found = { keys: [], facts: [], indexByKey: new Map(), vectors: new Float32Array(0), next: 0 }
      this.#partitions.set(partition, found)
    }
    const known = found.indexByKey.get(key)
    const at = known ?? found.next % promptsMax
    if (known === undefined) found.next = at + 1
    const needed = (at + 1) * vector.length
    if (found.vectors.length < needed) {
      const grown = new Float32Array(Math.min(Math.max(needed, found.vectors.length * 2), promptsMax * vector.length))
      grown.set(found.vectors)
      found.vectors = grown
    }
    found.vectors.set(vector, at * vector.length)
    const before = found.keys[at]
    if (before !== undefined && before !== key) found.indexByKey.delete(before)
    found.keys[at] = key
    found.facts[at] = facts
    found.indexByKey.set(key, at)
  }

  /** Its answer is gone. */
  forget(partition: string, key: string): void {
    const found = this.#partitions.get(partition)
    const at = found?.indexByKey.get(key)
    if (!found || at === undefined) return
    found.indexByKey.delete(key)
    found.keys[at] = nowhere
  }

  clear(): void {
    this.#partitions.clear()
  }
}

/** The vector of unit length; undefined = it has no direction. */
export function unitVector(vector: Float32Array): Float32Array | undefined {
  const length = Math.hypot(...vector)
  return length > 0 && Number.isFinite(length) ? vector.map(one => one / length) : undefined
}
