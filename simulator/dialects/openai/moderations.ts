/** OpenAI's moderations: https://platform.openai.com/docs/api-reference/moderations. */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { JsonObject } from '../../lib/json.ts'
import { hash, randomId, seededRandom } from '../../generation/random.ts'
import type { EndpointHandler } from '../endpoint.ts'

const categories = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
] as const

const flaggedScore = 0.9
const otherScoreMax = 0.01

/** Scores by category. A line `flag: violence` raises that category; a few words about violence do as well. */
export function scoresOf(text: string, names: readonly string[], seed: number): Record<string, number> {
  const random = seededRandom(hash(text, seed))
  const flagged = [...text.matchAll(/^flag: *(\S+)/gm)].map(([, name]) => name)
  if (/\b(?:kill|murder)/i.test(text)) flagged.push('violence', 'violence_and_threats')
  return Object.fromEntries(
    names.map(name => [name, (flagged.includes(name) ? flaggedScore : 0) + random() * otherScoreMax]),
  )
}

/** Whether each category is flagged. */
export function flagsOf(scores: Record<string, number>): Record<string, boolean> {
  return Object.fromEntries(Object.entries(scores).map(([name, score]) => [name, score > 0.5]))
}

/** The inputs, one by one. A list of text and image parts is one input. */
export function moderatedTexts(input: unknown): string[] {
  if (typeof input === 'string') return [input]
  if (!Array.isArray(input) || input.length === 0)
    throw new ApiError("Missing required parameter: 'input'.", {
      param: 'input',
      code: 'missing_required_parameter',
    })
  if (input.every(one => typeof one === 'string')) return input
  if (input.every(isJsonObject))
    return [
      objectsOf(input)
        .map(part => String(part.text ?? ''))
        .join('\n'),
    ]
  throw new ApiError("Invalid type for 'input': expected a string, an array of strings or of parts.", {
    param: 'input',
  })
}

function resultOf(text: string, hasImage: boolean, seed: number): JsonObject {
  const scores = scoresOf(text, categories, seed)
  const flags = flagsOf(scores)
  const kinds = [...(text === '' ? [] : ['text']), ...(hasImage ? ['image'] : [])]
  return {
    flagged: Object.values(flags).includes(true),
    categories: flags,
    category_scores: scores,
    category_applied_input_types: Object.fromEntries(categories.map(name => [name, kinds])),
  }
}

/** `/moderations`: one result for each input. Throws ApiError. */
export const openaiModerations: EndpointHandler = ({ body, model, seed }) => {
  const hasImage = objectsOf(body.input).some(part => part.type === 'image_url')
  const results = moderatedTexts(body.input).map(text => resultOf(text, hasImage, seed))
  const id = `modr-${randomId(seededRandom(hash(JSON.stringify(body.input), seed)), 24)}`
  return jsonResponse({ id, model, results })
}
