/** Embeddings as their client asked for them, where the upstream answered in another way. */
import { brokenAnswer } from '../../core/errors.ts'
import { readVector, writeVector } from '../../core/dialects/vectors.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject, listOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { put } from './mends.ts'
import type { Mend } from './mends.ts'

type Encoding = 'float' | 'base64'

/**
 * Vectors in the asked encoding, in the order of their inputs, each with its `index` and `object`: clients decode what
 * they asked for, and take the first vector for that of the first input. A vector that is neither a text nor a list
 * (several vectors an input) stays. Throws `upstream-broken` for an index of no input, or of two vectors.
 */
export function embeddingsMends({ data }: Json, client: JsonBody | undefined): Mend[] {
  const encoding: Encoding = client?.get('encoding_format') === 'base64' ? 'base64' : 'float'
  const list = listOf(data)
  if (list.every((entry, place) => isSound(entry, place, encoding))) return []
  return [
    put(
      ['data'],
      inOrder(list).map((entry, place) => written(entry, place, encoding)),
    ),
  ]
}

function isSound(entry: unknown, place: number, encoding: Encoding): boolean {
  if (!isObject(entry)) return false
  const { embedding, index, object } = entry
  return index === place && object === 'embedding' && !isOther(embedding, encoding)
}

/** The vector is written in the other of the two encodings. */
function isOther(embedding: unknown, encoding: Encoding): boolean {
  return encoding === 'float' ? typeof embedding === 'string' : isVector(embedding)
}

const isVector = (value: unknown): boolean => Array.isArray(value) && !Array.isArray(value[0])

function inOrder(list: readonly unknown[]): Json[] {
  const ordered: Json[] = []
  list.forEach((entry, at) => {
    const place = isObject(entry) ? (entry.index ?? at) : undefined
    if (!isObject(entry) || typeof place !== 'number' || !Number.isInteger(place) || place < 0 || place >= list.length)
      throw brokenAnswer("the upstream's answer has an embedding of no input")
    if (ordered[place]) throw brokenAnswer("the upstream's answer has two embeddings of one input")
    ordered[place] = entry
  })
  return ordered
}

function written(entry: Json, index: number, encoding: Encoding): Json {
  const { embedding } = entry
  return {
    ...entry,
    object: 'embedding',
    index,
    embedding: isOther(embedding, encoding) ? writeVector(readVector(embedding), index, encoding) : embedding,
  }
}
