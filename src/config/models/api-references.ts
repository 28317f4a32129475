/**
 * References to secrets in models and credentials that are made by API. An administrator of models must not learn
 * secrets of the gateway or its machine by having them sent to an address of their own: variables that
 * the configuration does not release, files outside of the allowed directories and commands are refused.
 */
import { resolve, sep } from 'node:path'
import type { CloudIdentity, CloudName, GoogleIdentity } from '../../core/cloud-identity.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { lazy } from '../../lib/lazy.ts'
import { providers } from '../../providers/index.ts'
import type { Environment } from '../environment.ts'
import { wholeReference } from '../reading/references.ts'
import type { Path } from '../reading/paths.ts'
import type { Finding } from '../reading/reading.ts'
import { awsHostVariables } from './aws-identity.ts'
import { azureHostVariables } from './azure-identity.ts'
import { awsVariables } from './bedrock-options.ts'
import { federationSource } from './google-credentials.ts'
import { googleHostVariables, vertexVariables } from './vertex-options.ts'

/** What objects that are made by API may refer to. */
export interface ApiReferences {
  /** Names of `general_settings.allowed_environment_references`. */
  readonly variables: readonly string[]
  /** Of `general_settings.secret_file_directories`. */
  readonly directories: readonly string[]
  /** Of `general_settings.host_credentials_by_api`. */
  readonly hostCredentials: readonly CloudName[]
}

/** Variables in which providers' rows look for keys; a model without `api_key` uses them without naming them. */
const keyVariables = lazy(() => new Set([...providers.values()].flatMap(one => one.apiKeyEnv)))

/** Variables of accounts by the fields that they fill; in other fields they would be sent as they are. */
const accountVariables: ReadonlyMap<unknown, ReadonlySet<string>> = new Map(
  Object.entries({ ...awsVariables, ...vertexVariables }).map(([field, names]) => [field, new Set(names)]),
)

/** Variables that lead to an identity of this host. */
const hostVariables: Readonly<Record<CloudName, readonly string[]>> = {
  aws: awsHostVariables,
  azure: azureHostVariables,
  google: googleHostVariables,
}

/** Why an entry of the API may not use its identity: those of the host are the operator's to release. */
export function identityProblem(identity: CloudIdentity, references: ApiReferences): string | undefined {
  const { cloud } = identity
  const federation = identity.cloud === 'google' ? sentFederation(identity) : undefined
  const isOfHost =
    (identity.cloud === 'aws' && identity.source.kind !== 'keys') ||
    (identity.cloud === 'azure' && identity.proof.kind !== 'client-secret') ||
    (identity.cloud === 'google' && (identity.source === 'host' || federation !== undefined))
  if (isOfHost && !references.hostCredentials.includes(cloud))
    return (
      `has no credentials of its own, and this host's at ${cloud} are not for models made by API; give credentials, ` +
      `or let the operator add ${cloud} to \`general_settings.host_credentials_by_api\``
    )
  if (!federation) return undefined
  const { file, ...others } = federation
  const isFile = typeof file === 'string' && Object.keys(others).every(name => name === 'format')
  if (isFile) return secretProblem(`file/${file}`, references)
  return (
    'has Google credentials that read addresses or run programs of this host; put them into a file in one of ' +
    '`general_settings.secret_file_directories`, and name its path'
  )
}

const sentFederation = ({ source, credentials }: GoogleIdentity): Json | undefined =>
  source === 'text' && credentials ? federationSource(credentials.reveal()) : undefined

function mayUse(name: string, path: Path, { variables }: ApiReferences): boolean {
  return variables.includes(name) || keyVariables().has(name) || (accountVariables.get(path.at(-1))?.has(name) ?? false)
}

/** The variables of the environment that entries of the API are read with; what is not in them is not resolved. */
export function apiEnvironment(environment: Environment, { variables, hostCredentials }: ApiReferences): Environment {
  const names = [
    ...variables,
    ...keyVariables(),
    ...[...accountVariables.values()].flatMap(one => [...one]),
    ...hostCredentials.flatMap(cloud => hostVariables[cloud]),
  ]
  return Object.fromEntries(
    names.flatMap(name => (Object.hasOwn(environment, name) ? [[name, environment[name]]] : [])),
  )
}

/** Whether a value is a reference and no secret by itself. */
export function isReference(value: unknown): boolean {
  return typeof value === 'string' && /^(os\.environ|file|vault|command)\//.test(value)
}

/** What may not be referred to from the API; paths are those in `value`. */
export function apiReferenceProblems(value: unknown, allowed: ApiReferences): Pick<Finding, 'path' | 'message'>[] {
  const problems: Pick<Finding, 'path' | 'message'>[] = []
  const look = (one: unknown, path: Path): void => {
    if (Array.isArray(one)) return one.forEach((item, at) => look(item, [...path, at]))
    if (typeof one === 'object' && one !== null)
      return Object.entries(one).forEach(([name, item]) => look(item, [...path, name]))
    if (typeof one !== 'string') return
    const text = asReference(one, path)
    const variable = variablesIn(text).find(name => !mayUse(name, path, allowed))
    const message = variable === undefined ? secretProblem(text, allowed) : variableProblem(variable)
    if (message !== undefined) problems.push({ path, message })
  }
  look(value, [])
  return problems
}

/** Fields that may be the path of a file, which is read and sent to an address of the entry. */
const filePathFields: ReadonlySet<unknown> = new Set([
  'vertex_credentials',
  'azure_certificate_path',
  'azure_federated_token_file',
  'aws_web_identity_token',
])

function asReference(text: string, path: Path): string {
  const isPath = filePathFields.has(path.at(-1)) && !isReference(text) && !/^(?:\s*\{|\$\{\w+\}$)/.test(text)
  return isPath ? `file/${text.replace(/^oidc\/file\//, '')}` : text
}

function variablesIn(text: string): string[] {
  return text.startsWith(wholeReference)
    ? [text.slice(wholeReference.length)]
    : [...text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)].map(match => match[1]!)
}

/** The name is shown short: it may be a secret that was sent in the place of one. */
function variableProblem(name: string): string {
  const shown = /^[A-Za-z_][A-Za-z0-9_]{0,59}$/.test(name) ? `the variable ${name}` : 'this variable'
  return (
    `${shown} of the environment cannot be read by API, which may name the key variables of providers and those of ` +
    '`general_settings.allowed_environment_references`; add it there, or send the value'
  )
}

/** Why a secret that is kept elsewhere may not be read by API; undefined = it may, or the text refers to none. */
export function secretProblem(text: string, { directories }: ApiReferences): string | undefined {
  if (text.startsWith('command/'))
    return 'commands are run for the configuration file alone; name a variable, a file or a path of Vault'
  if (!text.startsWith('file/')) return undefined
  const path = resolve('/', text.slice('file/'.length))
  if (directories.some(directory => path.startsWith(`${resolve(directory)}${sep}`))) return undefined
  return 'is not in one of `general_settings.secret_file_directories`, the only files that can be read by API'
}
