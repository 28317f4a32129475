/**
 * References to secrets in models and credentials that are made by API. An administrator of models must not learn
 * secrets of the gateway or its machine by having them sent to an address of their own: variables that
 * the configuration does not release, files outside of the allowed directories and commands are refused.
 */
import { resolve, sep } from 'node:path'
import { lazy } from '../../lib/lazy.ts'
import { providers } from '../../providers/index.ts'
import type { Environment } from '../environment.ts'
import { wholeReference } from '../reading/references.ts'
import type { Finding, Path } from '../reading/reading.ts'
import { awsVariables } from './bedrock-options.ts'
import { vertexVariables } from './vertex-options.ts'

/** What objects that are made by API may refer to. */
export interface ApiReferences {
  /** Names of `general_settings.allowed_environment_references`. */
  readonly variables: readonly string[]
  /** Of `general_settings.secret_file_directories`. */
  readonly directories: readonly string[]
}

/** Variables in which providers' rows look for keys; a model without `api_key` uses them without naming them. */
const keyVariables = lazy(() => new Set([...providers.values()].flatMap(one => one.apiKeyEnv)))

/** Variables of accounts by the fields that they fill; in other fields they would be sent as they are. */
const accountVariables: ReadonlyMap<unknown, ReadonlySet<string>> = new Map(
  Object.entries({ ...awsVariables, ...vertexVariables }).map(([field, names]) => [field, new Set(names)]),
)

function mayUse(name: string, path: Path, { variables }: ApiReferences): boolean {
  return variables.includes(name) || keyVariables().has(name) || (accountVariables.get(path.at(-1))?.has(name) ?? false)
}

/** The variables of the environment that entries of the API are read with; what is not in them is not resolved. */
export function apiEnvironment(environment: Environment, { variables }: ApiReferences): Environment {
  const names = [...variables, ...keyVariables(), ...[...accountVariables.values()].flatMap(one => [...one])]
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

/** Google credentials may be named by the path of their file. */
function asReference(text: string, path: Path): string {
  const isPath = path.at(-1) === 'vertex_credentials' && !isReference(text) && !/^(?:\s*\{|\$\{\w+\}$)/.test(text)
  return isPath ? `file/${text}` : text
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
