/** Mistral's classifier (docs.mistral.ai/api, "Moderations"): scores by its own categories, no overall verdict. */
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import type { ModerationsRequest, ModerationsResult, ModerationVerdict } from '../../core/hub/moderations.ts'
import { readOpenaiUsage } from '../../core/usage/openai-usage.ts'
import type { TranslatedCall } from '../../core/provider.ts'
import { isObject } from '../../lib/json/json-values.ts'

/** The parts of one input are joined with line breaks. Throws `invalid-request` for images. */
export function moderationsBody(request: ModerationsRequest, model: string): Omit<TranslatedCall, 'head'> {
  const input = request.inputs.map(parts =>
    parts
      .map(part => {
        if (part.type === 'text') return part.text
        throw new GatewayError('invalid-request', 'this model judges text only; leave the images out of `input`', {
          param: 'input',
        })
      })
      .join('\n'),
  )
  return { body: { model, input }, dropped: Object.keys(request.extra.fields) }
}

/** `flagged` = any category is true. Throws `upstream-broken` unless there is one result with categories per input. */
export function moderationsResult(body: unknown, request: ModerationsRequest): ModerationsResult {
  if (!isObject(body) || !Array.isArray(body.results)) throw brokenProtocol('no results')
  if (body.results.length !== request.inputs.length)
    throw brokenProtocol(`${body.results.length} verdicts for ${request.inputs.length} inputs`)
  const usage = readOpenaiUsage(body.usage)
  return { verdicts: body.results.map(verdict), ...(usage && { usage }) }
}

function verdict(result: unknown): ModerationVerdict {
  if (!isObject(result) || !isObject(result.categories)) throw brokenProtocol('a verdict without categories')
  const categories = Object.fromEntries(
    Object.entries(result.categories).map(([name, value]) => [name, value === true]),
  )
  const scores = Object.fromEntries(
    Object.entries(isObject(result.category_scores) ? result.category_scores : {}).filter(isScore),
  )
  return { flagged: Object.values(categories).includes(true), categories, scores }
}

const isScore = (entry: [string, unknown]): entry is [string, number] =>
  typeof entry[1] === 'number' && Number.isFinite(entry[1])
