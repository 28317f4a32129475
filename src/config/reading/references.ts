/** References in values of the file: to variables of the environment, and to secrets that are kept elsewhere. */
import type { Environment } from '../environment.ts'
import { isSecretReference } from '../secret-sources.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { secretName } from '../checks/secret-name.ts'
import { secretParams } from '../sections/model-params.ts'
import type { Path } from './paths.ts'
import type { Finding, ReadOptions } from './reading.ts'

/** The process environment over `environment_variables` of the file, which may refer to the former. */
export function ownEnvironment(value: unknown, environment: Environment): Environment {
  const given = isObject(value) && isObject(value.environment_variables) ? value.environment_variables : {}
  // Mistakes in them are reported at their own location.
  const own = withEnvironment(given, [], { environment, findings: [] }) as Record<string, unknown>
  const texts = Object.entries(own).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return { ...Object.fromEntries(texts), ...environment }
}

/** Where the values of references come from, and what is found wrong with them. */
interface Resolution {
  readonly environment: Environment
  readonly findings: Finding[]
  /** Absent = secrets that are kept elsewhere are not read. */
  readonly secrets?: { readonly known: NonNullable<ReadOptions['secrets']>; readonly findings: Finding[] } | undefined
  readonly unread?: Finding[]
}

/** References to secrets stand in the secret fields of models and credentials; elsewhere such a text is none. */
const isSecretPlace = (path: Path): boolean =>
  ((path[0] === 'model_list' && path[2] === 'proxy_params') ||
    (path[0] === 'credential_list' && path[2] === 'credential_values')) &&
  secretParams.has(String(path[3]))

/** The secret that a reference stands for, or a text in its place. */
function readSecret(reference: string, path: Path, { secrets, unread }: Resolution): string {
  const known = secrets?.known.get(reference)
  if (known && 'value' in known) return known.value
  const shown = reference.startsWith('command/') ? 'the output of the command' : `\`${reference}\``
  const message = known
    ? `${shown} cannot be read: ${known.problem}`
    : `${shown} is not read yet; try again in a moment`
  if (secrets) secrets.findings.push({ path, message })
  unread?.push({ path, message })
  return 'unset'
}

/** Begins a value that is a variable as a whole. */
export const wholeReference = 'os.environ/'

/** Resolves `os.environ/NAME` as a whole value, and `${NAME}` and `${NAME:-default}` anywhere in a value. */
export function withEnvironment(value: unknown, path: Path, resolution: Resolution): unknown {
  if (Array.isArray(value)) return value.map((one, at) => withEnvironment(one, [...path, at], resolution))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, withEnvironment(one, [...path, key], resolution)]),
    )
  if (typeof value !== 'string') return value
  if (isSecretReference(value) && isSecretPlace(path)) return readSecret(value, path, resolution)
  const wrong = (message: string): string => {
    resolution.findings.push({ path, message })
    return 'unset'
  }
  const take = (name: string, otherwise: string | undefined): string => {
    const found = (Object.hasOwn(resolution.environment, name) && resolution.environment[name]) || otherwise
    if (found !== undefined) return found
    const remedy = plainName.test(name) ? `set it, or write \${${name}:-default}` : 'set it'
    return wrong(`the environment variable ${name} is not set; ${remedy}`)
  }
  if (value.startsWith(wholeReference)) {
    const name = value.slice(wholeReference.length)
    // The text is not shown: it may be the secret itself.
    if (!/^[^\s=]+$/.test(name))
      return wrong(
        '`os.environ/` must be followed by the name of an environment variable, which has no blanks, as ' +
          'os.environ/NAME',
      )
    return take(name, undefined)
  }
  // Shell syntax `$NAME` is not replaced, so the literal text would be used as the secret.
  if (/^\$[A-Z][A-Z0-9_]*$/.test(value) && secretName.test(String(path.at(-1))))
    return wrong(
      `names a variable as shells do, which is not filled in here; write \${${value.slice(1)}} or ` +
        `os.environ/${value.slice(1)}`,
    )
  // An unclosed reference would be sent to the provider as the key.
  if (value.replace(reference, '').includes('${'))
    wrong('`${` begins the name of an environment variable; write ${NAME} or ${NAME:-default}')
  return value.replace(reference, (_, name: string, otherwise: string | undefined) => take(name, otherwise))
}

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g
