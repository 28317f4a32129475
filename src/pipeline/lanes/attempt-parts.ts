/** What an attempt is planned from, what it consists of, and what all kinds of attempts share. */
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { TranslatedCall } from '../../core/provider.ts'
import type { AnswerHead, BodyPiece, CallHead } from '../../core/transport.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'
import type { CallPolicies } from '../admission/admission.ts'
import type { AnswerCheck } from './checked-exchange.ts'
import type { LateAnswer } from './filtered-format.ts'
import { exactText } from '../../lib/json/exact-json.ts'

/** A whole answer, ready for the client. */
export interface WholeAnswer {
  readonly body: Uint8Array | string
  readonly usage: Usage | undefined
  /** The upstream's name of the model that answered; absent = not read, or recorded already. */
  readonly answeredModel?: string | undefined
  /** Absent = JSON. */
  readonly contentType?: string
}

/**
 * The request, and how the answer is read. For one exchange: `answer` (which throws GatewayError) or one relay. A retry
 * is planned again.
 */
export interface PlannedAttempt {
  readonly head: CallHead
  readonly body: readonly BodyPiece[]
  /** The answer is streamed although the client did not ask for it: audio. */
  readonly streamed?: boolean
  /** Accepted content types of a stream, as prefixes. */
  readonly streamTypes: readonly string[]
  /** Client fields that are not sent to this upstream. */
  readonly dropped: readonly string[]
  /** Checks finished answers, which may be requested again: see `checkedExchange`. */
  readonly check?: AnswerCheck
  answer(bytes: Uint8Array, head: AnswerHead): WholeAnswer
  /** Set where a policy asks others about the answer: it has the body, or what ends the stream. */
  readonly late?: LateAnswer | undefined
  /** `contentType` is the upstream's, in lower case. */
  relay(contentType: string): StreamRelay
}

/** Fields of the client's that the deployment does not let pass. */
export interface Withheld {
  /** Take them out of the body, or leave of them what restricts. */
  readonly edits: Edit[]
  /** Their names, and the paths of members left out of those that stay. */
  readonly dropped: string[]
}

/** What one attempt is planned from. */
export interface Plan {
  readonly call: Call
  readonly deployment: Deployment
  readonly policies: CallPolicies
  readonly withheld: Withheld
  /** The client's body without `withheld` (but in forms), with files named as the deployment knows them. */
  readonly body: JsonBody
}

/** An answer that an adapter cannot read is the upstream's error, not the gateway's. */
export function readResult<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError('upstream-broken', "the upstream's answer does not follow its protocol", { cause })
  }
}

/** Fields with a hub type are not lost; fields that the format left out are. */
export function outgoingRequest(
  translated: TranslatedCall,
  request?: ChatRequest,
): Pick<PlannedAttempt, 'head' | 'body' | 'dropped'> {
  const understood = request?.understoodExtra ?? []
  const missing = request?.essentialExtra?.find(name => translated.dropped.includes(name))
  if (missing !== undefined)
    throw new GatewayError(
      'invalid-request',
      `\`${missing}\`: the model '${request!.model}' does not know it; leave it out, or use a model that does`,
      { param: missing, code: request!.essentialCode },
    )
  const dropped = request?.dropped ? [...new Set([...request.dropped, ...translated.dropped])] : translated.dropped
  return {
    head: translated.head,
    body: [Buffer.from(exactText(translated.body), 'utf8')],
    dropped: understood.length > 0 ? dropped.filter(name => !understood.includes(name)) : dropped,
  }
}
