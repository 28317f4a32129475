/** URLs of models on Vertex AI (cloud.google.com/vertex-ai/docs/reference/rest). */
import { GatewayError } from '../../core/errors.ts'
import type { Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'

/** The host of the location `global`, and of express mode. Other locations have hosts of their own. */
export const globalBaseUrl = 'https://aiplatform.googleapis.com'
const locationDefault = 'us-central1'
const apiVersionDefault = 'v1'
/** Project and location become part of URLs. */
const project = /^[a-z0-9][a-z0-9.:-]{0,99}$/
const location = /^[a-z0-9-]{1,40}$/

/** true = a model of Anthropic; all other names are treated as models of Google. */
export const isClaude = (model: string): boolean => model.startsWith('claude')

/**
 * URL and headers of `action` (such as `generateContent`) on the target's model. Throws `internal` for a configured
 * project or location with characters that are not allowed in one.
 */
export function vertexHead(target: Target, action: string): CallHead {
  return {
    url: `${base(target)}${parent(target)}/${resource(target.model)}:${action}`,
    headers: {
      'content-type': 'application/json',
      ...(target.apiKey && { 'x-goog-api-key': target.apiKey.reveal() }),
      ...target.headers,
    },
  }
}

function text(target: Target, name: string, allowed: RegExp): string | undefined {
  const value = target.options[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && allowed.test(value)) return value
  throw new GatewayError('internal', `the configured ${name} is not one`)
}

function base(target: Target): string {
  const { api_version: configured } = target.options
  const version = typeof configured === 'string' ? configured : apiVersionDefault
  if (target.baseUrl !== globalBaseUrl)
    return /\/v\d+\w*$/.test(target.baseUrl) ? target.baseUrl : `${target.baseUrl}/${version}`
  return `${hostOf(text(target, 'vertex_project', project) === undefined ? 'global' : locationOf(target))}/${version}`
}

const locationOf = (target: Target): string => text(target, 'vertex_location', location) ?? locationDefault

function hostOf(region: string): string {
  if (region === 'global') return globalBaseUrl
  // The two multi-regions have a different form of host names.
  return region === 'us' || region === 'eu'
    ? `https://aiplatform.${region}.rep.googleapis.com`
    : `https://${region}-aiplatform.googleapis.com`
}

/** '' in express mode (an API key without a project). */
function parent(target: Target): string {
  const name = text(target, 'vertex_project', project)
  return name === undefined ? '' : `/projects/${name}/locations/${locationOf(target)}`
}

/** A tuned model is a numbered endpoint; others are under their publisher. The name is escaped to one path segment. */
function resource(model: string): string {
  const endpoint = /^(?:endpoints\/)?(\d{5,30})$/.exec(model)
  if (endpoint) return `endpoints/${endpoint[1]}`
  const name = encodeURIComponent(model).replaceAll('%40', '@')
  return `publishers/${isClaude(model) ? 'anthropic' : 'google'}/models/${name}`
}
