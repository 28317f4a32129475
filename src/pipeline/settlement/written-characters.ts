/** How much a model wrote, from its whole answer in any dialect. */

/** Larger answers are not parsed: they are mostly pictures, sound or one long text. */
const parseBytesMax = 256 * 1024
/** Names of the fields with generated text, in the answers of all dialects. */
const writtenFields: ReadonlySet<string> = new Set([
  'content',
  'text',
  'reasoning_content',
  'refusal',
  'arguments',
  'thinking',
  'partial_json',
  'input',
])
/** What stands beside it: what was searched, found, or asked. */
const foreignFields: ReadonlySet<string> = new Set([
  'annotations',
  'citations',
  'documents',
  'groundingMetadata',
  'instructions',
  'logprobs',
  'metadata',
  'results',
  'search_results',
  'tools',
  'usage',
])

/** The number of generated characters; undefined = it is larger than 256 KiB, or no JSON. */
export function writtenCharacters(answer: Uint8Array | string): number | undefined {
  if (answer.length > parseBytesMax) return undefined
  try {
    return written(JSON.parse(typeof answer === 'string' ? answer : new TextDecoder().decode(answer)), false)
  } catch {
    return undefined
  }
}

function written(value: unknown, isText: boolean): number {
  if (typeof value === 'string') return isText ? value.length : 0
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + written(one, isText), 0)
  // Of a tool that the upstream ran itself.
  if ('type' in value && typeof value.type === 'string' && value.type.endsWith('_result')) return 0
  let sum = 0
  for (const [name, one] of Object.entries(value))
    if (!foreignFields.has(name)) sum += written(one, writtenFields.has(name))
  return sum
}
