/**
 * The forward lane of the Responses dialect. The gateway itself keeps conversations and runs calls in the
 * background, so that what reaches the upstream stands on its own.
 */
import type { ForwardedAnswer, ForwardRules } from '../../../core/format.ts'
import type { ForwardQuirks } from '../../../core/provider.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import type { Edit } from '../../../lib/json/json-body.ts'
import { gatewayFields, isObject } from '../../common/field-checks.ts'
import { readAnswer } from '../forward.ts'
import { ResponsesRelay } from './relay.ts'
import { failureOf } from './response-object.ts'
import { sealPrefix, unseal } from './encrypted-reasoning.ts'
import { readUsage } from './usage.ts'

/** Done here: an upstream knows neither our ids nor our runs. */
const ownFields = new Set(['previous_response_id', 'conversation', 'background'])

function edits(body: JsonBody, quirks: ForwardQuirks): { edits: Edit[]; dropped: string[] } {
  const result: { edits: Edit[]; dropped: string[] } = { edits: [], dropped: [] }
  for (const name of body.names()) {
    const renamed = quirks.rename && Object.hasOwn(quirks.rename, name) ? quirks.rename[name] : undefined
    if (gatewayFields.has(name) || ownFields.has(name)) result.edits.push({ remove: name })
    else if (quirks.drop?.includes(name)) {
      result.edits.push({ remove: name })
      result.dropped.push(name)
    } else if (renamed !== undefined) {
      result.edits.push({ remove: name })
      if (!body.has(renamed)) result.edits.push({ set: renamed, json: body.rawText(name)! })
    }
  }
  if (holdsOurSeals(body)) {
    result.edits.push({ set: 'input', json: JSON.stringify((body.get('input') as unknown[]).filter(isForeign)) })
    result.dropped.push('input.encrypted_content')
  }
  return result
}

/** Another vendor's thinking, from earlier in the conversation: this upstream could not verify it. */
function isForeign(item: unknown): boolean {
  return !(isObject(item) && item.type === 'reasoning' && unseal(item.encrypted_content))
}

function holdsOurSeals(body: JsonBody): boolean {
  const { bytes } = body
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(`"${sealPrefix}`) < 0) return false
  const input = body.get('input')
  return Array.isArray(input) && !input.every(isForeign)
}

function answer(bytes: Uint8Array, publicModel: string): ForwardedAnswer {
  const body = readAnswer(bytes, 'output')
  if (body.get('status') === 'failed') throw failureOf(body.get('error'))
  const changes: Edit[] = body.get('model') === publicModel ? [] : [{ set: 'model', json: JSON.stringify(publicModel) }]
  const pieces = body.edited(changes)
  return {
    body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces),
    usage: readUsage(body.get('usage')),
  }
}

/** `answer` throws `upstream-broken` for what is no response, and the upstream's own error for one that failed. */
export const responsesForward: ForwardRules = {
  edits,
  answer,
  relay: (publicModel, body) => new ResponsesRelay(publicModel, body.get('previous_response_id')),
}
