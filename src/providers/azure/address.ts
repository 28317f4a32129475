/** Addresses of Azure OpenAI: by deployment and dated version, or the v1 form, which knows neither ("API lifecycle"). */
import type { Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import { Secret } from '../../lib/secret.ts'
import { contentHeaders, dialectPaths } from '../openai-compatible/head.ts'
import type { CompatibleDialect } from '../openai-compatible/head.ts'
import { usesEntra } from './entra.ts'

/** The last dated version that is generally available; later ones are v1. */
const defaultVersion = '2024-10-21'
/** Since then a dated version knows responses; before it, only the v1 form does. */
const responsesSince = '2025-03'
/** `api_version` words for the v1 form, as the peer's users write them. */
const v1Words = new Set(['v1', 'latest', 'preview'])

/** The operator's own headers win over those of the dialect and the credentials. */
export function azureHead(target: Target, dialect: CompatibleDialect): CallHead {
  return {
    url: azureUrl(target, dialect),
    headers: { ...contentHeaders(dialect), ...keyHeaders(target), ...target.headers },
  }
}

function azureUrl(target: Target, dialect: CompatibleDialect): string {
  const { root, deployment, isV1 } = readBase(target.baseUrl)
  const { api_version: given } = target.options
  const version = typeof given === 'string' ? given : defaultVersion
  const path = dialectPaths[dialect]
  const responses = dialect === 'openai-responses'
  if (isV1 || v1Words.has(version) || (responses && version < responsesSince))
    return `${root}/openai/v1${path}${version === 'preview' ? '?api-version=preview' : ''}`
  const query = `?api-version=${encodeURIComponent(version)}`
  if (responses) return `${root}/openai${path}${query}`
  return `${root}/openai/deployments/${deployment ?? encodeURIComponent(target.model)}${path}${query}`
}

/** Files and batches belong to the resource, not to a deployment. */
export function azureFilesHead(target: Target, path: string): CallHead {
  const { root, isV1 } = readBase(target.baseUrl)
  const { api_version: given } = target.options
  const version = typeof given === 'string' ? given : defaultVersion
  const preview = version === 'preview' ? '?api-version=preview' : ''
  const url =
    isV1 || v1Words.has(version)
      ? `${root}/openai/v1${path}${preview}`
      : `${root}/openai${path}?api-version=${encodeURIComponent(version)}`
  return { url, headers: { ...keyHeaders(target), ...target.headers } }
}

/** The lines of a batch name the deployment, which the address may say. */
export function deploymentName(target: Target): string {
  const { deployment } = readBase(target.baseUrl)
  return deployment === undefined ? target.model : decodeURIComponent(deployment)
}

/** `api_base` may be the resource, or any of the longer forms that other clients want; `/openai/v1` wins over a dated version. */
function readBase(base: string): { root: string; deployment: string | undefined; isV1: boolean } {
  const match = /^(.*?)(?:\/openai(?:\/(v1)|\/deployments\/([^/?]+).*)?)?$/.exec(base)
  return { root: match?.[1] ?? base, deployment: match?.[3], isV1: match?.[2] !== undefined }
}

/** The key, or a token that the operator renews (`azure_ad_token`); a token of Entra ID is added to each call. */
export function keyHeaders(target: Target): Record<string, string> {
  if (usesEntra(target)) return {}
  const { azure_ad_token: token } = target.options
  if (token instanceof Secret) return { authorization: `Bearer ${token.reveal()}` }
  return target.apiKey ? { 'api-key': target.apiKey.reveal() } : {}
}
