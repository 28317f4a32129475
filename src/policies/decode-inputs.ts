/**
 * Embeddings of token ids at upstreams that embed only texts: the ids are decoded, and those upstreams are sent the
 * text. Other upstreams get the ids.
 */
import type { Call, CallInAdmission, FallbackModel } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import { clientClosed } from '../core/request.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { encodingOf } from '../lib/tokens/tokenizer.ts'
import type { Decoding, Encoding, Tokenizer } from '../lib/tokens/tokenizer.ts'

/** What clients have by default: the vocabulary of OpenAI's own models for embeddings. */
const usualEncoding: Encoding = 'cl100k_base'
const busyMs = 1000
const beginsWithText = /^(\[\s*)?"/
const peekedBytes = 32

/**
 * Sets `textBody` where a deployment of the call needs it. Where the ids have no text, only deployments that take ids
 * stay; rejects when there are none: with `invalid-request`, or with `overloaded` while the tokenizer has no time.
 */
export function decodeInputs(tokenizer: Pick<Tokenizer, 'decode'>): Policy {
  return { name: 'decode-inputs', stage: 'body', dryRun: 'preview', admit: call => decodeWhereNeeded(tokenizer, call) }
}

function decodeWhereNeeded(tokenizer: Pick<Tokenizer, 'decode'>, call: Call): Promise<void> | undefined {
  if (call.operation !== 'embeddings' || call.format?.dialect !== 'openai-embeddings' || !mayNeedText(call))
    return undefined
  // A large body of texts is not parsed for this.
  if (beginsWithText.test(call.body!.beginningOf('input', peekedBytes))) return undefined
  const input = call.body!.get('input')
  if (!Array.isArray(input) || typeof input[0] === 'string' || input.length === 0) return undefined
  return decodeIds(tokenizer, call, input as TokenIds)
}

/** One input, or several; the policies have checked that all entries are of one kind. */
type TokenIds = readonly number[] | readonly (readonly number[])[]

const isOne = (input: TokenIds): input is readonly number[] => typeof input[0] === 'number'

const needsText = ({ target }: Deployment): boolean => target.provider.embedsTextOnly === true
const takesIds = (one: Deployment): boolean => !needsText(one)
const someNeedText = ({ deployments }: FallbackModel): boolean => deployments.some(needsText)

function mayNeedText({ candidates, fallbacksInOrder, contextWindowFallbacks, contentPolicyFallbacks }: Call): boolean {
  return (
    candidates.some(needsText) ||
    fallbacksInOrder.some(someNeedText) ||
    contextWindowFallbacks.some(someNeedText) ||
    contentPolicyFallbacks.some(someNeedText)
  )
}

async function decodeIds(tokenizer: Pick<Tokenizer, 'decode'>, call: CallInAdmission, input: TokenIds): Promise<void> {
  const encoding = encodingOf(call.model) ?? usualEncoding
  const decoding = await tokenizer.decode(encoding, isOne(input) ? [input] : input, call.caller.key.id)
  if (call.client.left) throw clientClosed()
  if (decoding?.kind === 'decoded') {
    const json = JSON.stringify(isOne(input) ? decoding.texts[0] : decoding.texts)
    call.textBody = JsonBody.read(Buffer.concat(call.body!.edited([{ set: 'input', json }])))
    return
  }
  const candidates = call.candidates.filter(takesIds)
  if (candidates.length === 0) throw refusal(decoding, encoding, input)
  call.candidates = candidates
  call.fallbacksInOrder = withIds(call.fallbacksInOrder)
  call.contextWindowFallbacks = withIds(call.contextWindowFallbacks)
  call.contentPolicyFallbacks = withIds(call.contentPolicyFallbacks)
}

/** Without the deployments that need texts. */
function withIds(models: readonly FallbackModel[]): readonly FallbackModel[] {
  return models.flatMap(({ name, deployments }) => {
    const able = deployments.filter(takesIds)
    return able.length > 0 ? [{ name, deployments: able }] : []
  })
}

type Failure = Exclude<Decoding, { kind: 'decoded' }> | undefined

function refusal(failure: Failure, encoding: Encoding, input: TokenIds): GatewayError {
  if (!failure)
    return new GatewayError(
      'overloaded',
      'the gateway has no time to decode token ids now; try again, or send strings',
      {
        param: 'input',
        retryAfterMs: busyMs,
      },
    )
  const problem =
    failure.kind === 'too-long'
      ? `the text of these token ids has more than ${failure.charactersMax} characters; send fewer in one call`
      : `\`${(isOne(input) ? ['input', failure.at] : ['input', failure.input, failure.at]).join('.')}\`: ` +
        `${failure.id} is no token id of ${encoding}, by which this model's inputs are read; send strings`
  return new GatewayError('invalid-request', failure.kind === 'too-long' ? `\`input\`: ${problem}` : problem, {
    param: 'input',
  })
}
