/** The forward lane: the client's bytes go to an upstream of the same dialect; the model's name stands in the path. */
import type { ForwardRules } from '../../core/format.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'
import { editedAnswer, readWholeAnswer } from '../common/whole-answer.ts'
import type { MakeFraming } from './stream-framing.ts'
import { GenerateRelay } from './relay.ts'
import { readUsage } from './usage.ts'
import { isObject } from '../common/field-checks.ts'
import { broken, objectsOf } from './json-names.ts'

/**
 * `framing` = what streams are wrapped in; whole answers have none. `answer` throws `upstream-broken` for what is no
 * JSON object, has neither `candidates` nor a blocked prompt, or has a candidate without a finish reason.
 */
export function generateForward(framing: MakeFraming): ForwardRules {
  return {
    modelInPath: true,
    edits(body, quirks) {
      const dropped = body.names().filter(name => quirks.drop?.includes(name))
      // The public name means nothing to the upstream.
      const removed = body.has('model') ? [...dropped, 'model'] : dropped
      return { edits: removed.map((name): Edit => ({ remove: name })), dropped }
    },
    answer(bytes, publicModel) {
      const body = readAnswer(bytes)
      const edits = body.has('modelVersion') ? [{ set: 'modelVersion', json: JSON.stringify(publicModel) }] : []
      return { body: editedAnswer(body, edits), usage: readUsage(body.get('usageMetadata')) }
    },
    relay: publicModel => new GenerateRelay(publicModel, framing()),
  }
}

function readAnswer(bytes: Uint8Array): JsonBody {
  const body = readWholeAnswer(bytes)
  const candidates = body.has('candidates') ? objectsOf(body.get('candidates')) : []
  const feedback = body.has('promptFeedback') ? body.get('promptFeedback') : undefined
  // A blocked prompt has feedback and no candidates.
  if (candidates.length === 0 && !(isObject(feedback) && feedback.blockReason != null))
    throw broken("the upstream's answer has no `candidates`")
  if (!candidates.every(({ finishReason }) => typeof finishReason === 'string' && finishReason !== ''))
    throw broken("the upstream's answer has no finish reason")
  return body
}
