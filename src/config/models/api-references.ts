/**
 * References to secrets in models and credentials that are made by API. An administrator of models must not learn
 * secrets of the gateway or its machine by having them sent to an address of their own: variables of the gateway, files
 * outside of the allowed directories and commands are refused.
 */
import { resolve, sep } from 'node:path'
import type { Finding, Path } from '../file/reading.ts'

/** Variables of the gateway itself. */
const ownVariable = /^(MODELGATE_|LITELLM_|DATABASE_URL|REDIS_|PG|VAULT_|HCP_VAULT_|PATH$|HOME$)/

/** Whether a value is a reference and no secret by itself. */
export function isReference(value: unknown): boolean {
  return typeof value === 'string' && /^(os\.environ|file|vault|command)\//.test(value)
}

/** What may not be referred to from the API; paths are those in `value`. */
export function apiReferenceProblems(
  value: unknown,
  directories: readonly string[],
): Pick<Finding, 'path' | 'message'>[] {
  const problems: Pick<Finding, 'path' | 'message'>[] = []
  const look = (one: unknown, path: Path): void => {
    if (Array.isArray(one)) return one.forEach((item, at) => look(item, [...path, at]))
    if (typeof one === 'object' && one !== null)
      return Object.entries(one).forEach(([name, item]) => look(item, [...path, name]))
    const message = typeof one === 'string' ? problemOf(asReference(one, path), directories) : undefined
    if (message !== undefined) problems.push({ path, message })
  }
  look(value, [])
  return problems
}

/** Google credentials may be named by the path of their file. */
function asReference(text: string, path: Path): string {
  const isPath = path.at(-1) === 'vertex_credentials' && !isReference(text) && !text.trimStart().startsWith('{')
  return isPath ? `file/${text}` : text
}

/** Why a text may not be sent by API; undefined = it may. */
export function problemOf(text: string, directories: readonly string[]): string | undefined {
  const variables = text.startsWith('os.environ/')
    ? [text.slice('os.environ/'.length)]
    : [...text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)].map(match => match[1]!)
  const own = variables.find(name => ownVariable.test(name))
  if (own !== undefined)
    return `the variable ${own.slice(0, 60)} is one of the gateway itself and cannot be read by API; use another`
  if (text.startsWith('command/'))
    return 'commands are run for the configuration file alone; name a variable, a file or a path of Vault'
  if (!text.startsWith('file/')) return undefined
  const path = resolve('/', text.slice('file/'.length))
  if (directories.some(directory => path.startsWith(`${resolve(directory)}${sep}`))) return undefined
  return 'is not in one of `general_settings.secret_file_directories`, the only files that can be read by API'
}
