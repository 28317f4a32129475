/** The forward lane: the client's bytes go to an upstream of the same dialect; the model's name stands in the path. */
import { brokenAnswer, GatewayError } from '../../core/errors.ts'
import { endingOf, geminiFinishReason, geminiFinishReasons } from '../../core/dialects/finish-reasons.ts'
import type { ForwardRules } from '../../core/format.ts'
import { readGeminiUsage } from '../../core/usage/gemini-usage.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { ruleEdits } from '../common/forward-edits.ts'
import { editedAnswer, readWholeAnswer } from '../common/whole-answer.ts'
import type { MakeFraming } from './stream-framing.ts'
import { GenerateRelay } from './relay.ts'
import { exactNames, exactText } from '../../lib/json/exact-json.ts'
import { isObject, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { objectsOrOne } from './json-names.ts'

/**
 * `framing` = what streams are wrapped in; whole answers have none. `answer` throws `upstream-broken` for what is no
 * JSON object, has neither `candidates` nor a blocked prompt, or has a candidate without a finish reason; and the
 * failure that a finish reason names.
 */
export function generateForward(framing: MakeFraming): ForwardRules {
  return {
    modelInPath: true,
    edits(body, rules) {
      const { edits, dropped } = ruleEdits(body, rules)
      const contents = rules.withoutEmptyTurns && filledTurns(body)
      if (contents) edits.push({ set: 'contents', json: contents })
      // The public name means nothing to the upstream.
      return { edits: body.has('model') ? [...edits, { remove: 'model' }] : edits, dropped }
    },
    answer(bytes, publicModel) {
      const body = readAnswer(bytes)
      const edits = body.has('modelVersion') ? [{ set: 'modelVersion', json: JSON.stringify(publicModel) }] : []
      return { body: editedAnswer(body, edits), usage: usageOf(body) }
    },
    relay: publicModel => new GenerateRelay(publicModel, framing()),
  }
}

/** Without the turns that have no parts; undefined = each has some, or none has. Numbers keep their digits. */
function filledTurns(body: JsonBody): string | undefined {
  if (!body.has('contents')) return undefined
  const isFilled = ({ parts }: Json): boolean => objectsOrOne(parts).length > 0
  const turns = objectsOrOne(body.get('contents'))
  const filled = turns.filter(isFilled)
  if (filled.length === turns.length || filled.length === 0) return undefined
  const exact = body.exact('contents', exactNames('args', 'response'))
  return exactText(exact === undefined ? filled : objectsOrOne(exact).filter(isFilled))
}

const usageOf = (body: JsonBody) =>
  readGeminiUsage({ candidates: body.get('candidates'), usageMetadata: body.get('usageMetadata') })

function readAnswer(bytes: Uint8Array): JsonBody {
  const body = readWholeAnswer(bytes)
  const candidates = body.has('candidates') ? objectsOrOne(body.get('candidates')) : []
  const feedback = body.has('promptFeedback') ? body.get('promptFeedback') : undefined
  // A blocked prompt has feedback and no candidates.
  if (candidates.length === 0 && !(isObject(feedback) && feedback.blockReason != null))
    throw brokenAnswer("the upstream's answer has no `candidates`")
  for (const candidate of candidates) {
    const word = geminiFinishReason(candidate)
    if (word === '') throw brokenAnswer("the upstream's answer has no finish reason")
    const ending = endingOf(geminiFinishReasons, word, textOf(candidate.finishMessage))
    if (ending instanceof GatewayError) throw ending.withUsage(usageOf(body))
  }
  return body
}
