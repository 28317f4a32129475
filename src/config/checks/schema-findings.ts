/** What the schema of the file objects to, in words that name the remedy. */
import type { z } from 'zod'
import { wantedBy } from '../../core/schema-problems.ts'
import { closestMatch } from '../../lib/closest-match.ts'
import { valueAt } from '../../lib/json/json-values.ts'
import type { Path } from '../reading/paths.ts'
import type { Finding } from '../reading/reading.ts'
import { knownKeys } from '../sections/setting-paths.ts'
import { secretName } from './secret-name.ts'

/** What the schema objects to, in words for the operator; `root` = the value that was checked. */
export function findingsOf(issue: z.core.$ZodIssue, root: unknown): Finding[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => {
      const near = closestMatch(key, knownKeys(path))
      return { path: [...path, key], message: `unknown key${near ? `, did you mean \`${near}\`?` : ''}`, atKey: true }
    })
  // Invalid names of headers and variables.
  if (issue.code === 'invalid_key') return issue.issues.map(one => ({ path, message: one.message, atKey: true }))
  const wanted = wantedBy(issue)?.replace('an object', 'a map').replace('an array', 'a list')
  const got = valueAt(root, path)
  if (got === undefined && wanted !== undefined) return [{ path, message: `is missing; give ${wanted}` }]
  const message = wanted === undefined ? issue.message : `must be ${wanted}`
  const quotes = wanted === 'a string' && ['number', 'boolean'].includes(typeof got) ? '; write it in quotes' : ''
  return [{ path, message: `${message}${shownValue(issue, path, got)}${quotes}` }]
}

const shownCharactersMax = 60
/** Maps with the operator's own keys. */
const secretMaps: ReadonlySet<string | number> = new Set([
  'extra_headers',
  'environment_variables',
  'vertex_credentials',
])

/** Formats `; got "heavy"`. Values that may be secrets are not shown, nor texts where a map is expected. */
function shownValue(issue: z.core.$ZodIssue, path: Path, got: unknown): string {
  if (got === undefined) return ''
  const isText = typeof got === 'string'
  const wantsMany = issue.code === 'invalid_type' && ['object', 'record', 'array'].includes(issue.expected)
  const isSecret = secretName.test(String(path.at(-1))) || path.some(part => secretMaps.has(part))
  const isHidden = isSecret || (typeof got === 'object' && got !== null) || (isText && wantsMany)
  if (!isHidden) return `; got ${isText ? JSON.stringify(got.slice(0, shownCharactersMax)) : String(got)}`
  return isText && issue.code !== 'invalid_type' ? '' : `; got ${kindOf(got)}`
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return value === null ? 'nothing' : typeof value === 'object' ? 'a map' : `a ${typeof value}`
}
