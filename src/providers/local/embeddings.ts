/** Embeddings without a model: hashed character n-grams. Similar texts really are near each other. */

const dimensionsDefault = 1024
const gramMin = 2
const gramMax = 4

/** Unit length; the same text always gives the same vector. */
export function embed(input: string | readonly number[], dimensions = dimensionsDefault): Float32Array {
  const vector = new Float32Array(dimensions)
  const text = typeof input === 'string' ? ` ${input.toLowerCase().replace(/\s+/g, ' ').trim()} ` : input.map(id => `<${id}>`).join('')
  for (let size = gramMin; size <= gramMax; size++)
    for (let at = 0; at + size <= text.length; at++) {
      const hash = fnv(text, at, size)
      // One bit decides the sign, so that collisions cancel instead of adding up.
      vector[(hash >>> 1) % dimensions]! += (hash & 1) === 0 ? 1 : -1
    }
  const length = Math.hypot(...vector)
  if (length === 0) vector[0] = 1
  else for (let at = 0; at < dimensions; at++) vector[at]! /= length
  return vector
}

function fnv(text: string, from: number, size: number): number {
  let hash = 0x811c9dc5 ^ size
  for (let at = from; at < from + size; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
