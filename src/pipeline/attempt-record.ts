import type { Attempt } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'

const nothingDropped: readonly string[] = []

/** One request to an upstream. A class, so that all share one hidden class. */
export class AttemptRecord implements Attempt {
  readonly deployment: Deployment | undefined
  readonly model: string
  readonly isCallers: boolean
  dropped = nothingDropped
  isSeries = false
  body: Attempt['body'] = undefined
  isSent = false
  status = 0
  sentMs = 0
  answeredMs = 0
  spanId = ''
  answeredTier: string | undefined = undefined
  answeredModel: string | undefined = undefined
  relay: Attempt['relay'] = undefined
  answerCharacters = -1
  usage: Attempt['usage'] = undefined
  usageSource: Attempt['usageSource'] = 'none'
  countedTokens = 0

  /** `model` = the fallback that is tried; empty = the call's own. */
  constructor(deployment: Deployment | undefined, model: string, isCallers = false) {
    this.deployment = deployment
    this.model = model
    this.isCallers = isCallers
  }
}

/** The request that may follow at the same deployment, of which nothing was sent. */
export function attemptAfter(before: Attempt): Attempt {
  const next = new AttemptRecord(before.deployment, before.model, before.isCallers)
  next.dropped = before.dropped
  next.isSeries = before.isSeries
  next.sentMs = before.sentMs
  next.answeredMs = before.answeredMs
  next.spanId = before.spanId
  return next
}
