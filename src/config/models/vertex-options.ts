/** Options of Vertex AI models: project, location and credentials, from the entry or the environment. */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { GoogleIdentity } from '../../core/cloud-identity.ts'
import { Secret } from '../../lib/secret.ts'
import type { Environment } from '../environment.ts'
import { credentialsProblem, credentialsProject } from './google-credentials.ts'

/** The `proxy_params` of Vertex AI. */
interface VertexParams {
  readonly vertex_project?: string | undefined
  readonly vertex_location?: string | undefined
  /** JSON text, a map, or the path of a file. */
  readonly vertex_credentials?: string | Record<string, unknown> | undefined
}

/** What is read of the target, or a mistake with its path inside the entry. */
type VertexReading =
  | { readonly options: Record<string, unknown>; readonly identity?: GoogleIdentity | undefined }
  | { path: string[]; message: string }

/** The environment variables of a Google account, by the field of `proxy_params` whose place they take. */
export const vertexVariables = {
  vertex_credentials: ['VERTEXAI_CREDENTIALS', 'GOOGLE_APPLICATION_CREDENTIALS'],
  vertex_project: ['VERTEXAI_PROJECT', 'GOOGLE_CLOUD_PROJECT'],
  vertex_location: ['VERTEXAI_LOCATION', 'GOOGLE_CLOUD_LOCATION'],
} as const

/** The variables that lead to identities of the host. */
export const googleHostVariables = ['HOME', 'CLOUDSDK_CONFIG', 'GCE_METADATA_HOST'] as const

/** Environment variables are named as by Google's SDKs and LiteLLM. With an API key no project is needed. */
export function vertexOptions(params: VertexParams, environment: Environment, hasApiKey: boolean): VertexReading {
  const found = hasApiKey ? undefined : identityOf(params, environment)
  if (found && 'message' in found) return found
  const text = found?.credentials?.reveal()
  const project =
    params.vertex_project ??
    (environment.VERTEXAI_PROJECT ||
      environment.GOOGLE_CLOUD_PROJECT ||
      (text === undefined ? undefined : credentialsProject(text)))
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
    },
    identity: found,
  }
}

/** In the order of Google's application default credentials: what is named, what `gcloud` keeps, the machine's. */
function identityOf(
  { vertex_credentials: own }: VertexParams,
  environment: Environment,
): GoogleIdentity | { path: string[]; message: string } {
  const { VERTEXAI_CREDENTIALS: peer, GOOGLE_APPLICATION_CREDENTIALS: sdk } = environment
  const given = own || peer || sdk || gcloudFile(environment)
  if (!given) return { cloud: 'google', metadataHost: environment.GCE_METADATA_HOST || undefined, source: 'host' }
  const path = ['proxy_params', ...(own === undefined ? [] : ['vertex_credentials'])]
  const isText = typeof given !== 'string' || given.trimStart().startsWith('{')
  const text = isText ? textOf(given) : fileText(given)
  if (text === undefined)
    return { path, message: 'the file of the Google credentials cannot be read; give its path or its JSON text' }
  const problem = credentialsProblem(text)
  if (problem !== undefined) return { path, message: `the Google credentials cannot be used: the text ${problem}` }
  const isNamed = Boolean(own || peer || sdk)
  return { cloud: 'google', credentials: new Secret(text), source: !isNamed ? 'host' : isText ? 'text' : 'file' }
}

/** Where `gcloud auth application-default login` writes; undefined = it has not. */
function gcloudFile({ CLOUDSDK_CONFIG: folder, HOME: home }: Environment): string | undefined {
  const path = join(folder || join(home || homedir(), '.config/gcloud'), 'application_default_credentials.json')
  return existsSync(path) ? path : undefined
}

const textOf = (given: string | Record<string, unknown>): string =>
  typeof given === 'string' ? given : JSON.stringify(given)

function fileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
