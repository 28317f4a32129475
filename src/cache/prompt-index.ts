/** The prompts of kept answers by their embeddings, by tenant and model; the nearest is found by looking at all. */
import { LRUCache } from 'lru-cache'

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
  /** Of unit length, one after another. */
  vectors: Float32Array
  /** Where the next prompt goes: the oldest one makes room. */
  next: number
}

/** Tenants and models whose prompts are remembered at the same time. */
const partitionsMax = 1000

/** Bounded by `promptsMax` prompts for each of at most 1,000 partitions. */
export class PromptIndex {
  readonly #partitions = new LRUCache<string, Partition>({ max: partitionsMax })

  /** undefined = none is as near as `similarityMin` and has the same facts. `vector` is of unit length. */
  nearest(partition: string, vector: Float32Array, facts: string, similarityMin: number): NearPrompt | undefined {
    const found = this.#partitions.get(partition)
    const size = vector.length
    if (!found || found.vectors.length % size !== 0) return undefined
    let best: NearPrompt | undefined
    for (let at = 0; at < found.keys.length; at++) {
      if (found.facts[at] !== facts) continue
      let similarity = 0
      for (let from = at * size, place = 0; place < size; place++)
        similarity += vector[place]! * found.vectors[from + place]!
      if (similarity >= similarityMin && similarity > (best?.similarity ?? -1))
        best = { key: found.keys[at]!, similarity }
    }
    return best
  }

  add(partition: string, prompt: { key: string; facts: string; vector: Float32Array }, promptsMax: number): void {
    const { key, facts, vector } = prompt
    let found = this.#partitions.get(partition)
    if (!found || found.vectors.length % vector.length !== 0) {
      found = { keys: [], facts: [], vectors: new Float32Array(0), next: 0 }
      this.#partitions.set(partition, found)
    }
    const known = found.keys.indexOf(key)
    const at = known >= 0 ? known : found.next % promptsMax
    if (known < 0) found.next = at + 1
    const needed = (at + 1) * vector.length
    if (found.vectors.length < needed) {
      const grown = new Float32Array(Math.min(Math.max(needed, found.vectors.length * 2), promptsMax * vector.length))
      grown.set(found.vectors)
      found.vectors = grown
    }
    found.vectors.set(vector, at * vector.length)
    found.keys[at] = key
    found.facts[at] = facts
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
