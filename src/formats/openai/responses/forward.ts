/**
 * The forward lane of the Responses dialect. The gateway itself keeps conversations and runs calls in the
 * background, so that what reaches the upstream stands on its own.
 */
import { brokenAnswer } from '../../../core/errors.ts'
import { failureOfBody } from '../../../core/dialects/classify.ts'
import type { ForwardedAnswer, ForwardRules } from '../../../core/format.ts'
import { readResponsesUsage } from '../../../core/usage/responses-usage.ts'
import type { FieldRules } from '../../../core/dialects/field-rules.ts'
import type { Edit, JsonBody } from '../../../lib/json/json-body.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import { commonEdits } from '../../common/forward-edits.ts'
import { editedAnswer, readAnswerWith } from '../../common/whole-answer.ts'
import { ResponsesRelay } from './relay.ts'
import { ownPrefix, decodeProof } from './encrypted-reasoning.ts'

/** Done here: an upstream knows neither our ids nor our runs. */
const ownFields = ['previous_response_id', 'conversation', 'background']

function edits(body: JsonBody, rules: FieldRules): { edits: Edit[]; dropped: string[] } {
  const result = commonEdits(body, rules)
  for (const name of ownFields) if (body.has(name)) result.edits.push({ remove: name })
  if (holdsOwnProofs(body)) {
    result.edits.push({ set: 'input', json: JSON.stringify((body.get('input') as unknown[]).filter(isForeign)) })
    result.dropped.push('input.encrypted_content')
  }
  return result
}

/** Another vendor's thinking, from earlier in the conversation: this upstream could not verify it. */
function isForeign(item: unknown): boolean {
  return !(isObject(item) && item.type === 'reasoning' && decodeProof(item.encrypted_content))
}

function holdsOwnProofs(body: JsonBody): boolean {
  const { bytes } = body
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(`"${ownPrefix}`) < 0) return false
  const input = body.get('input')
  return Array.isArray(input) && !input.every(isForeign)
}

function answer(bytes: Uint8Array, publicModel: string): ForwardedAnswer {
  const body = readAnswerWith(bytes, 'output')
  const status = body.has('status') ? body.get('status') : 'completed'
  const usage = readResponsesUsage(name => body.get(name))
  if (status === 'failed') throw failureOfBody({ error: body.get('error') }).withUsage(usage)
  if (status !== 'completed' && status !== 'incomplete') throw brokenAnswer("the upstream's answer is not finished")
  const changes: Edit[] = body.get('model') === publicModel ? [] : [{ set: 'model', json: JSON.stringify(publicModel) }]
  const model = body.get('model')
  return { body: editedAnswer(body, changes), usage, ...(typeof model === 'string' && { answeredModel: model }) }
}

/** `answer` throws `upstream-broken` for what is no response, and the upstream's own error for one that failed. */
export const responsesForward: ForwardRules = {
  edits,
  answer,
  relay: (publicModel, body) => new ResponsesRelay(publicModel, body.get('previous_response_id')),
}
