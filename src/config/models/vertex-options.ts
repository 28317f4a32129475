/** Options of Vertex AI models: project, location and credentials, from the entry or the environment. */
import { readFileSync } from 'node:fs'
import { Secret } from '../../lib/secret.ts'
import { credentialsProblem, credentialsProject } from '../../providers/vertex/authorization.ts'
import type { Environment } from '../environment.ts'

/** The `proxy_params` of Vertex AI. */
interface VertexParams {
  readonly vertex_project?: string | undefined
  readonly vertex_location?: string | undefined
  /** JSON text, a map, or the path of a file. */
  readonly vertex_credentials?: string | Record<string, unknown> | undefined
}

/** The `options` of the target, or a mistake with its path inside the entry. */
type VertexReading = { options: Record<string, unknown> } | { path: string[]; message: string }

/** The environment variables of a Google account, by the field of `proxy_params` whose place they take. */
export const vertexVariables = {
  vertex_credentials: ['VERTEXAI_CREDENTIALS', 'GOOGLE_APPLICATION_CREDENTIALS'],
  vertex_project: ['VERTEXAI_PROJECT', 'GOOGLE_CLOUD_PROJECT'],
  vertex_location: ['VERTEXAI_LOCATION', 'GOOGLE_CLOUD_LOCATION'],
} as const

/** Environment variables are named as by Google's SDKs and LiteLLM. With an API key no project is needed. */
export function vertexOptions(params: VertexParams, environment: Environment, hasApiKey: boolean): VertexReading {
  const given =
    params.vertex_credentials ??
    (environment.VERTEXAI_CREDENTIALS || environment.GOOGLE_APPLICATION_CREDENTIALS || undefined)
  const path = ['proxy_params', ...(params.vertex_credentials === undefined ? [] : ['vertex_credentials'])]
  let credentials: string | undefined
  if (given !== undefined && given !== '' && !hasApiKey) {
    credentials = credentialsText(given)
    if (credentials === undefined)
      return { path, message: 'the file of the Google credentials cannot be read; give its path or its JSON text' }
    const problem = credentialsProblem(credentials)
    if (problem !== undefined) return { path, message: `the Google credentials cannot be used: the text ${problem}` }
  }
  const project =
    params.vertex_project ??
    (environment.VERTEXAI_PROJECT ||
      environment.GOOGLE_CLOUD_PROJECT ||
      (credentials && credentialsProject(credentials)))
  if (project === undefined && !hasApiKey)
    return {
      path: ['proxy_params'],
      message: 'no project: give `vertex_project`, or set VERTEXAI_PROJECT or GOOGLE_CLOUD_PROJECT',
    }
  const location =
    params.vertex_location ?? (environment.VERTEXAI_LOCATION || environment.GOOGLE_CLOUD_LOCATION || undefined)
  return {
    options: {
      ...(project !== undefined && { vertex_project: project }),
      ...(location !== undefined && { vertex_location: location }),
      ...(credentials !== undefined && { vertex_credentials: new Secret(credentials) }),
    },
  }
}

function credentialsText(given: string | Record<string, unknown>): string | undefined {
  if (typeof given !== 'string') return JSON.stringify(given)
  if (given.trimStart().startsWith('{')) return given
  try {
    return readFileSync(given, 'utf8')
  } catch {
    return undefined
  }
}
