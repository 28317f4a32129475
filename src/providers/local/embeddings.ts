/** Simulated embeddings: hashed character n-grams, so that similar texts have similar vectors. */
import { estimateTokenCount } from 'tokenx'
import { LocalRefusal } from './refusal.ts'

const dimensionsDefault = 1024
const dimensionsMax = 8192
const inputsMax = 2048
/** Numbers in all vectors of an answer: 2048 inputs of 1024 dimensions. */
const numbersMax = inputsMax * dimensionsDefault
const inputLengthMax = 100_000
const totalLengthMax = 2_000_000
const gramMin = 2
const gramMax = 4

type Input = string | readonly number[]

/** A deterministic vector of length 1. */
export function embed(input: Input, dimensions = dimensionsDefault): Float32Array {
  const vector = new Float32Array(dimensions)
  const text =
    typeof input === 'string'
      ? ` ${input.toLowerCase().replace(/\s+/g, ' ').trim()} `
      : input.map(id => `<${id}>`).join('')
  for (let size = gramMin; size <= gramMax; size++)
    for (let at = 0; at + size <= text.length; at++) {
      const hash = fnv(text, at, size)
      // One bit of the hash is the sign, so that collisions cancel out on average.
      vector[(hash >>> 1) % dimensions]! += (hash & 1) === 0 ? 1 : -1
    }
  const length = Math.hypot(...vector)
  if (length === 0) vector[0] = 1
  else for (let at = 0; at < dimensions; at++) vector[at]! /= length
  return vector
}

/** FNV-1a, 32 bits, seeded with the size. */
function fnv(text: string, from: number, size: number): number {
  let hash = 0x811c9dc5 ^ size
  for (let at = from; at < from + size; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** Answers an embeddings request of OpenAI's shape. Throws LocalRefusal for inputs beyond the limits above. */
export function answerEmbeddings(body: Record<string, unknown>): object {
  const inputs = readInputs(body.input)
  const dimensions = readDimensions(body.dimensions)
  if (inputs.length * dimensions > numbersMax)
    throw new LocalRefusal(
      'dimensions',
      `inputs times dimensions may be at most ${numbersMax}; send fewer inputs at a time`,
    )
  const tokens = inputs.reduce((sum, one) => sum + (typeof one === 'string' ? estimateTokenCount(one) : one.length), 0)
  return {
    object: 'list',
    data: inputs.map((one, index) => {
      const vector = embed(one, dimensions)
      const embedding = body.encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
      return { object: 'embedding', index, embedding }
    }),
    model: body.model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

function readDimensions(value: unknown): number {
  if (value === undefined || value === null) return dimensionsDefault
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= dimensionsMax) return value
  throw new LocalRefusal('dimensions', `\`dimensions\` must be an integer from 1 to ${dimensionsMax}`)
}

function readInputs(input: unknown): Input[] {
  const list: unknown[] = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  if (list.length === 0 || list.length > inputsMax)
    throw new LocalRefusal('input', `\`input\` must be 1 to ${inputsMax} texts or lists of token ids`)
  if (!list.every(isInput))
    throw new LocalRefusal(
      'input',
      `each input must be a text or a list of token ids, of at most ${inputLengthMax} characters or ids`,
    )
  const total = list.reduce((sum, one) => sum + one.length, 0)
  if (total > totalLengthMax)
    throw new LocalRefusal(
      'input',
      `all inputs together may have at most ${totalLengthMax} characters; send fewer at a time`,
    )
  return list
}

function isInput(value: unknown): value is Input {
  const isRight = typeof value === 'string' || (Array.isArray(value) && value.every(id => typeof id === 'number'))
  return isRight && value.length <= inputLengthMax
}
