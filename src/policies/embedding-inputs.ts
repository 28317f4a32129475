/** What of a call for embeddings needs no upstream: nothing to embed, or a text that no candidate can take. */
import type { Reply } from '../core/answer.ts'
import type { Call, CallInAdmission } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { EmbeddingsResult } from '../core/hub/embeddings.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Policy } from '../core/policy.ts'
import { TextCounter } from '../lib/tokens/count-tokens.ts'

/** Texts are counted by an estimate: one that is above the limit by less than this may still fit. */
const estimateMargin = 1.25

/**
 * A call without inputs is answered with an empty list. Keeps the candidates whose `max_input_tokens` holds each input;
 * throws `context-too-long` when there is none.
 */
export function embeddingInputs(): Policy {
  return {
    name: 'embedding-inputs',
    stage: 'body',
    admit(call) {
      return call.operation === 'embeddings' && call.body ? checkInputs(call, call.body) : undefined
    },
  }
}

function checkInputs(call: Call, body: JsonBody): Reply | undefined {
  // A token is at least one byte: most bodies fit as they are.
  const tight = call.candidates.some(one => limitOf(one) < body.size)
  const isEmpty = body.has('input') ? body.sizeOf('input') <= emptyBytes : call.format!.fieldNames.has('input')
  if (!tight && !isEmpty) return undefined
  const input = call.input()
  if (input.kind !== 'embeddings') return undefined
  if (input.request.inputs.length === 0) return emptyAnswer(call)
  if (tight) keepFitting(call, input.request.inputs)
  return undefined
}

/** `null`, or a list without entries and a few blanks. */
const emptyBytes = 8

function emptyAnswer(call: Call): Reply {
  const result: EmbeddingsResult = { vectors: [], usage: { inputTokens: 0, outputTokens: 0 } }
  call.usedNothing()
  return call.reply(result)
}

function limitOf({ info }: Deployment): number {
  return typeof info.max_input_tokens === 'number' ? info.max_input_tokens : Number.POSITIVE_INFINITY
}

function keepFitting(call: CallInAdmission, inputs: readonly (string | readonly number[])[]): void {
  const { candidates } = call
  const sizes = inputs.map(tokensOf)
  const longest = sizes.reduce((most, one) => Math.max(most, one), 0)
  const fitting = candidates.filter(one => longest <= limitOf(one))
  if (fitting.length === candidates.length) return
  if (fitting.length === 0) {
    const at = sizes.indexOf(longest)
    const most = Math.max(...candidates.map(limitOf))
    throw new GatewayError(
      'context-too-long',
      `\`input[${at}]\` has about ${longest} tokens or more, and the model '${call.model}' takes at most ${most} in ` +
        'one input; split it',
      { param: 'input' },
    )
  }
  call.candidates = fitting
}

/** Of token ids their number; of a text fewer than the estimate, so that none is refused that would fit. */
function tokensOf(input: string | readonly number[]): number {
  if (typeof input !== 'string') return input.length
  const counter = new TextCounter()
  counter.add(input)
  return Math.floor(counter.tokens / estimateMargin)
}
