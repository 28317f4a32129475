/** Attributes that spans, metrics and log records of a call share. */
import type { Attributes } from '@opentelemetry/api'
import { attribute, operationNames, providerNames } from './conventions.ts'
import type { CallRecord } from './call-record.ts'

type Attempt = CallRecord['attempts'][number]

/** Without those that have no value: the SDK would send them empty. */
export function known(attributes: Attributes): Attributes {
  for (const name in attributes) if (attributes[name] === undefined) delete attributes[name]
  return attributes
}

/** The conventions' word for what a model is asked to do. */
export const operationOf = (operation: string): string =>
  operationNames[operation as keyof typeof operationNames] ?? operation

/** The conventions' word for a provider. */
export const providerOf = (name: string): string => providerNames[name] ?? name

const addresses = new Map<string, Attributes>()
/** As many as a configuration has hosts; a map beyond it would grow with names in paths. */
const addressesMax = 1000

/** Host and port of an upstream. */
export function serverOf(baseUrl: string): Attributes {
  let known = addresses.get(baseUrl)
  if (known) return known
  if (addresses.size >= addressesMax) addresses.clear()
  const url = URL.parse(baseUrl)
  known = url?.hostname
    ? {
        [attribute.serverAddress]: url.hostname,
        [attribute.serverPort]: Number(url.port) || (url.protocol === 'http:' ? 80 : 443),
      }
    : {}
  addresses.set(baseUrl, known)
  return known
}

/** The attempt that the client's answer came from, or that failed last. */
const lastAttempt = ({ attempts }: CallRecord): Attempt | undefined => attempts.at(-1)

/** What a call used. */
export const usageAttributes = (call: CallRecord): Attributes => ({
  [attribute.inputTokens]: call.inputTokens,
  [attribute.outputTokens]: call.outputTokens,
  [attribute.cacheReadTokens]: call.cacheReadTokens,
  [attribute.cacheCreationTokens]: call.cacheWriteTokens,
  [attribute.reasoningTokens]: call.reasoningTokens,
})

/** Whose call it is, and what it came to. */
export function callAttributes(call: CallRecord): Attributes {
  const attempt = lastAttempt(call)
  return {
    [attribute.operationName]: operationOf(call.operation),
    [attribute.providerName]: attempt && providerOf(attempt.provider),
    [attribute.requestModel]: call.model || undefined,
    [attribute.requestStream]: call.stream,
    [attribute.responseModel]: call.responseModel,
    [attribute.timeToFirstChunk]: call.stream && call.firstByteMs !== undefined ? call.firstByteMs / 1000 : undefined,
    [attribute.conversationId]: call.sessionId,
    ...usageAttributes(call),
    [attribute.errorType]: call.error,
    [attribute.httpMethod]: 'POST',
    [attribute.httpRoute]: call.route,
    [attribute.httpStatus]: call.status,
    [attribute.clientAddress]: call.clientAddress || undefined,
    [attribute.userAgent]: call.userAgent || undefined,
    [attribute.callId]: call.id,
    [attribute.outcome]: call.outcome,
    [attribute.costUsd]: call.costUsd,
    [attribute.usageSource]: call.usageSource,
    [attribute.keyId]: call.keyId,
    [attribute.keyAlias]: call.keyAlias,
    [attribute.userId]: call.userId,
    [attribute.teamId]: call.teamId,
    [attribute.organizationId]: call.organizationId,
    [attribute.endUser]: call.endUser,
    [attribute.tags]: call.tags && [...call.tags],
    [attribute.attempts]: call.sent,
    [attribute.fallbacks]: call.fallbacks,
    [attribute.deploymentId]: attempt?.deployment,
    [attribute.cacheHit]: call.cacheHit,
  }
}
