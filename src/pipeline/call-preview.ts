/** The request that a call would send to its upstream: planned like every call, then shown instead of sent. */
import type { Caller } from '../core/caller.ts'
import type { CloudCredential } from '../core/cloud-identity.ts'
import type { Deployment } from '../core/deployment.ts'
import type { CallPreview, ModelCall } from '../core/endpoint.ts'
import type { HttpRequest } from '../core/request.ts'
import type { Target } from '../core/provider.ts'
import type { CallHead } from '../core/transport.ts'
import { readJsonBody } from '../core/request.ts'
import { Redactor, redacted } from '../lib/redact.ts'
import { Secret } from '../lib/secret.ts'
import { planAttempt } from './lanes/attempt.ts'
import type { PlannedAttempt } from './lanes/attempt-parts.ts'
import { admitDryRun } from './admission/admission.ts'
import type { CallPolicies } from './admission/admission.ts'
import { openCall } from './call-record.ts'
import type { CallParts } from './call-record.ts'

interface PreviewParts extends CallParts {
  readonly policies: CallPolicies
}

type PreviewCall = (request: HttpRequest, caller: Caller, call: ModelCall, bytes: Uint8Array) => Promise<CallPreview>

/**
 * Binds the parts. `bytes` is the body to be shown. Rejects where a policy would refuse the call; no limit is asked. No
 * model is called, but files that the body names may be downloaded. Secrets are redacted.
 */
export function createPreviewCall(parts: PreviewParts): PreviewCall {
  return async (request, caller, options, bytes) => {
    const { format, route } = options
    const call = openCall(parts, request, caller, { operation: format.operation, route, format, options })
    call.body = readJsonBody(bytes)
    call.forwardedHeaders = format.forward.headers?.(request.headers)
    await admitDryRun(call, parts.policies.preview)
    const deployment = firstOf(call.candidates)
    const attempt = planAttempt(call, deployment, parts.policies)
    return shown(attempt, {
      deployment,
      epochMs: parts.clock.epochMs(),
      hidden: [...(call.namedFiles?.localIds.keys() ?? [])],
    })
  }
}

/** The choice by weight is random; the first deployment represents the others. */
function firstOf(candidates: readonly Deployment[]): Deployment {
  return candidates.reduce((first, one) => (one.order < first.order ? one : first))
}

interface PreviewContext {
  readonly deployment: Deployment
  readonly epochMs: number
  /** To be masked beside the secrets of the deployment. */
  readonly hidden: readonly string[]
}

function shown(attempt: PlannedAttempt, { deployment, epochMs, hidden }: PreviewContext): CallPreview {
  const { target } = deployment
  const mask = new Redactor([...secretsOf(target), ...hidden])
  const headers = { ...attempt.head.headers, ...proof(attempt, target, epochMs) }
  return {
    url: mask.url(attempt.head.url),
    // The operator's own headers may contain secrets.
    headers: mask.headers(headers, new Set(Object.keys(target.headers))),
    body: mask.json(JSON.parse(bodyText(attempt))),
    dropped: attempt.dropped,
    deployment,
  }
}

/** Bodies of JSON are always in memory. */
const bodyText = ({ body }: PlannedAttempt): string =>
  Buffer.concat(body.filter(piece => piece instanceof Uint8Array)).toString('utf8')

/** The headers that are added when a call is sent. A credential that would have to be fetched is not fetched. */
function proof({ head, body }: PlannedAttempt, target: Target, epochMs: number): CallHead['headers'] {
  const { authorize } = target.provider
  if (!authorize) return {}
  const call = { method: 'POST' as const, ...head, body: body.filter(piece => piece instanceof Uint8Array) }
  const credential: CloudCredential | undefined =
    target.identity &&
    (target.identity.cloud === 'aws'
      ? { kind: 'keys', accessKeyId: redacted, secretAccessKey: redacted }
      : { kind: 'token', token: redacted })
  return authorize(call, target, { epochMs, credential })
}

function secretsOf(target: Target): string[] {
  const found: string[] = []
  const visit = (value: unknown): void => {
    if (value instanceof Secret) found.push(value.reveal())
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) visit(inner)
  }
  visit(target.apiKey)
  visit(target.options)
  visit(target.identity)
  return found
}
