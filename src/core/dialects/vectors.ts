/** How OpenAI's dialect of embeddings writes a vector: as a list of numbers, or as base64 of little-endian float32. */
import { GatewayError } from '../errors.ts'

/** A numeric vector. Throws `upstream-broken` on anything else. */
export function vectorOf(values: unknown): Float32Array {
  if (!Array.isArray(values) || values.length === 0 || !values.every(value => typeof value === 'number'))
    throw new GatewayError(
      'upstream-broken',
      "the upstream's answer does not follow its protocol: an embedding that is no vector",
    )
  return Float32Array.from(values as number[])
}

/**
 * A vector from a list of numbers, or from base64 of little-endian float32 values (bytes after the last whole value are
 * ignored). Throws `upstream-broken` on anything else.
 */
export function readVector(embedding: unknown): Float32Array {
  if (typeof embedding !== 'string') return vectorOf(embedding)
  const bytes = Buffer.from(embedding, 'base64')
  return new Float32Array(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength - (bytes.byteLength % 4)),
  )
}

/**
 * The vector as the client asked for it. `index` = its place, for the error. Throws `upstream-broken` on a value for
 * which JSON has no word: it would arrive as null.
 */
export function writeVector(vector: Float32Array, index: number, encoding: 'float' | 'base64'): string | number[] {
  if (!vector.every(Number.isFinite))
    throw new GatewayError('upstream-broken', `the upstream's vector ${index} holds a value that is not a number`)
  if (encoding === 'float') return Array.from(vector)
  // As every SDK decodes it: all machines that this runs on are little-endian.
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}
