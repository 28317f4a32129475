/** Calls, as far as the bounds of their cost are made of them. */
import { chatRequest } from './provider-rig.ts'
import type { Call } from '../../src/core/call.ts'
import type { ChatRequest } from '../../src/core/hub/chat.ts'
import { nativeProfile } from '../../src/core/deployment.ts'
import type { Deployment } from '../../src/core/deployment.ts'
import type { CallInput } from '../../src/core/hub/input.ts'
import type { Operation } from '../../src/core/hub/operation.ts'
import type { Prices } from '../../src/core/usage/prices.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'

/** The moment at which each call begins. */
export const atMs = 1_000_000

/** What a call is made of. */
export interface Made {
  readonly operation?: Operation
  readonly input: CallInput
  readonly candidates: readonly Deployment[]
  readonly fallbacks?: readonly Deployment[]
  /** Of the body. */
  readonly bytes?: number
  readonly edits?: Call['edits']
  /** Of the body, beside its text. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** Other parts of the call. */
  readonly more?: object
}

/** Makes the parts of a call that bounds are made of. */
export function callOf(made: Made): Call {
  const { operation = 'chat', input, candidates, fallbacks = [], bytes = 200, edits = [], fields = {}, more } = made
  const empty = JSON.stringify({ ...fields, x: '' }).length
  const body = JsonBody.read(Buffer.from(JSON.stringify({ ...fields, x: 'y'.repeat(Math.max(bytes - empty, 0)) })))
  return {
    operation,
    format: { operation },
    body,
    dropped: [],
    edits,
    candidates,
    fallbacksInOrder: fallbacks.length > 0 ? [{ name: 'spare', deployments: fallbacks }] : [],
    contextWindowFallbacks: [],
    contentPolicyFallbacks: [],
    startedAtMs: atMs,
    input: () => input,
    ...more,
  } as unknown as Call
}

let made = 0
/** Makes a deployment at these prices. */
export const deploymentOf = (prices: Prices | null, info: Record<string, unknown> = {}): Deployment =>
  ({ id: `d${++made}`, prices, info, profile: nativeProfile }) as unknown as Deployment
/** Makes the input of a chat. */
export const chat = (more: Partial<ChatRequest> = {}): CallInput => ({ kind: 'chat', request: chatRequest(more) })
