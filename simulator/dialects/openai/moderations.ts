/** OpenAI's moderations: https://platform.openai.com/docs/api-reference/moderations. */
import { BadRequest, isJson, jsonAnswer, objectsOf } from '../../generation/types.ts'
import type { Json } from '../../generation/types.ts'
import { hash, randomId, randomOf } from '../../generation/random.ts'
import type { Answerer } from '../endpoint.ts'

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

/** Scores by category that the text decides: `flag: violence` in a line of its own, or a word of the trade, is enough. */
export function scoresOf(text: string, names: readonly string[], seed: number): Record<string, number> {
  const random = randomOf(hash(text, seed))
  const flagged = [...text.matchAll(/^flag: *(\S+)/gm)].map(([, name]) => name)
  if (/\b(?:kill|murder)/i.test(text)) flagged.push('violence', 'violence_and_threats')
  return Object.fromEntries(
    names.map(name => [name, (flagged.includes(name) ? flaggedScore : 0) + random() * otherScoreMax]),
  )
}

/** The judgement of scores, by category. */
export function verdictsOf(scores: Record<string, number>): Record<string, boolean> {
  return Object.fromEntries(Object.entries(scores).map(([name, score]) => [name, score > 0.5]))
}

/** The texts to judge, one by one: parts of text and images are one input together. */
export function judgedTexts(input: unknown): string[] {
  if (typeof input === 'string') return [input]
  if (!Array.isArray(input) || input.length === 0)
    throw new BadRequest("Missing required parameter: 'input'.", {
      param: 'input',
      code: 'missing_required_parameter',
    })
  if (input.every(one => typeof one === 'string')) return input
  if (input.every(isJson))
    return [
      objectsOf(input)
        .map(part => String(part.text ?? ''))
        .join('\n'),
    ]
  throw new BadRequest("Invalid type for 'input': expected a string, an array of strings or of parts.", {
    param: 'input',
  })
}

function resultOf(text: string, hasImage: boolean, seed: number): Json {
  const scores = scoresOf(text, categories, seed)
  const verdicts = verdictsOf(scores)
  const kinds = [...(text === '' ? [] : ['text']), ...(hasImage ? ['image'] : [])]
  return {
    flagged: Object.values(verdicts).includes(true),
    categories: verdicts,
    category_scores: scores,
    category_applied_input_types: Object.fromEntries(categories.map(name => [name, kinds])),
  }
}

/** One result for each text, flagged as `scoresOf` says. Throws BadRequest. */
export const openaiModerations: Answerer = ({ body, model, seed }) => {
  const hasImage = objectsOf(body.input).some(part => part.type === 'image_url')
  const results = judgedTexts(body.input).map(text => resultOf(text, hasImage, seed))
  const id = `modr-${randomId(randomOf(hash(JSON.stringify(body.input), seed)), 24)}`
  return jsonAnswer({ id, model, results })
}
