/** Where a model of Vertex AI is reached (cloud.google.com/vertex-ai/docs/reference/rest). */
import { GatewayError } from '../../core/errors.ts'
import type { Target } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'

/** The host of the location `global`, and of express mode. Other locations have hosts of their own. */
export const globalBaseUrl = 'https://aiplatform.googleapis.com'
const locationDefault = 'us-central1'
const apiVersionDefault = 'v1'
/** Both words go into addresses. */
const project = /^[a-z0-9][a-z0-9.:-]{0,99}$/
const location = /^[a-z0-9-]{1,40}$/

/** Every other name is taken for one of Google's models. */
export const isClaude = (model: string): boolean => model.startsWith('claude')

/**
 * The call of `action` (`generateContent`) at the target's model. Throws `internal` for a configured project or location
 * that could not stand in an address.
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
  const { api_version: asked } = target.options
  const version = typeof asked === 'string' ? asked : apiVersionDefault
  if (target.baseUrl !== globalBaseUrl)
    return /\/v\d+\w*$/.test(target.baseUrl) ? target.baseUrl : `${target.baseUrl}/${version}`
  return `${hostOf(text(target, 'vertex_project', project) === undefined ? 'global' : locationOf(target))}/${version}`
}

const locationOf = (target: Target): string => text(target, 'vertex_location', location) ?? locationDefault

function hostOf(place: string): string {
  if (place === 'global') return globalBaseUrl
  // The two multi-regions have hosts of another form.
  return place === 'us' || place === 'eu'
    ? `https://aiplatform.${place}.rep.googleapis.com`
    : `https://${place}-aiplatform.googleapis.com`
}

/** Express mode (an API key alone) knows no project. */
function parent(target: Target): string {
  const name = text(target, 'vertex_project', project)
  return name === undefined ? '' : `/projects/${name}/locations/${locationOf(target)}`
}

/** A tuned model is an endpoint with a number; any other is its publisher's. A name is always one step of the path. */
function resource(model: string): string {
  const endpoint = /^(?:endpoints\/)?(\d{5,30})$/.exec(model)
  if (endpoint) return `endpoints/${endpoint[1]}`
  const name = encodeURIComponent(model).replaceAll('%40', '@')
  return `publishers/${isClaude(model) ? 'anthropic' : 'google'}/models/${name}`
}
