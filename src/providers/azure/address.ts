/**
 * URLs of Azure OpenAI: with a deployment and a dated version, or the v1 form without both
 * (learn.microsoft.com, "Azure OpenAI API version lifecycle").
 */
import type { Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { Secret } from '../../lib/secret.ts'
import { contentHeaders, dialectPaths } from '../openai-compatible/head.ts'
import type { CompatibleDialect } from '../openai-compatible/head.ts'

/** The last generally available dated version; its successor is v1. */
const defaultVersion = '2024-10-21'
/** The first dated versions with the Responses API; with an older one the v1 form is used. */
const responsesSince = '2025-03'
/** Values of `api_version` that mean the v1 form, as in LiteLLM's configurations. */
const v1Versions = new Set(['v1', 'latest', 'preview'])

/** URL and headers of a dialect. Headers from the configuration override those of the dialect and the credentials. */
export function azureHead(target: Target, dialect: CompatibleDialect): CallHead {
  return {
    url: azureUrl(target, dialect),
    headers: { ...contentHeaders(dialect), ...keyHeaders(target), ...target.headers },
  }
}

/** The dated version of its chats; `v1` = the form without one, which knows all fields. */
export function apiVersionOf({ baseUrl, options }: Target): string {
  const version = typeof options.api_version === 'string' ? options.api_version : defaultVersion
  return readBase(baseUrl).isV1 || v1Versions.has(version) ? 'v1' : version
}

function azureUrl(target: Target, dialect: CompatibleDialect): string {
  const { root, deployment, isV1 } = readBase(target.baseUrl)
  const { api_version: given } = target.options
  const version = typeof given === 'string' ? given : defaultVersion
  const path = dialectPaths[dialect]
  const responses = dialect === 'openai-responses'
  if (isV1 || v1Versions.has(version) || (responses && version < responsesSince))
    return `${root}/openai/v1${path}${version === 'preview' ? '?api-version=preview' : ''}`
  const query = `?api-version=${encodeURIComponent(version)}`
  if (responses) return `${root}/openai${path}${query}`
  return `${root}/openai/deployments/${deployment ?? encodeURIComponent(target.model)}${path}${query}`
}

/** URL and headers of files and batches, which belong to the resource and not to a deployment. */
export function azureFilesHead(target: Target, path: string): CallHead {
  const { root, isV1 } = readBase(target.baseUrl)
  const { api_version: given } = target.options
  const version = typeof given === 'string' ? given : defaultVersion
  const preview = version === 'preview' ? '?api-version=preview' : ''
  const url =
    isV1 || v1Versions.has(version)
      ? `${root}/openai/v1${path}${preview}`
      : `${root}/openai${path}?api-version=${encodeURIComponent(version)}`
  return { url, headers: { ...keyHeaders(target), ...target.headers } }
}

/** The deployment's name for the lines of a batch: from `api_base` where it holds one, else the model. */
export function deploymentName(target: Target): string {
  const { deployment } = readBase(target.baseUrl)
  return deployment === undefined ? target.model : decodeURIComponent(deployment)
}

/** `api_base` may be the resource, or end with `/openai`, `/openai/v1` or `/openai/deployments/<name>/...`. */
function readBase(base: string): { root: string; deployment: string | undefined; isV1: boolean } {
  const match = /^(.*?)(?:\/openai(?:\/(v1)|\/deployments\/([^/?]+).*)?)?$/.exec(base)
  return { root: match?.[1] ?? base, deployment: match?.[3], isV1: match?.[2] !== undefined }
}

/**
 * The API key, or a token that the operator renews (`azure_ad_token`). Empty for Entra ID, whose token
 * `authorizeAzure` adds to each call.
 */
export function keyHeaders(target: Target): Record<string, string> {
  if (target.identity) return {}
  const { azure_ad_token: token } = target.options
  if (token instanceof Secret) return { authorization: `Bearer ${token.reveal()}` }
  return target.apiKey ? { 'api-key': target.apiKey.reveal() } : {}
}
