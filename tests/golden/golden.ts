/** Files of expected results: written with `UPDATE_GOLDEN=1`, otherwise compared, with a list of differences. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHash } from 'node:crypto'

const updates = process.env.UPDATE_GOLDEN === '1'
const shownTextLengthMax = 300
const shownDifferencesMax = 12
const lineLengthMax = 150

/** Throws with the differences; a missing file is a failure too. */
export function expectGolden(name: string, actual: unknown): void {
  const file = join(import.meta.dir, 'expected', `${name}.json`)
  const value: unknown = JSON.parse(JSON.stringify(shortened(actual)))
  if (updates) {
    writeFileSync(file, `${pretty(value)}\n`)
    return
  }
  if (!existsSync(file))
    throw new Error(`there is no ${file}; look at the results, then write them with UPDATE_GOLDEN=1`)
  const found = differences(JSON.parse(readFileSync(file, 'utf8')), value)
  if (found.length === 0) return
  const more = found.length > shownDifferencesMax ? `\n... and ${found.length - shownDifferencesMax} more` : ''
  throw new Error(
    `${name}: not as expected (UPDATE_GOLDEN=1 accepts)\n\n${found.slice(0, shownDifferencesMax).join('\n')}${more}`,
  )
}

/**
 * Long texts are replaced by their beginning and a hash, which keeps the files readable and still detects every change.
 */
function shortened(value: unknown): unknown {
  if (typeof value === 'string' && value.length > shownTextLengthMax) {
    const hash = createHash('sha256').update(value).digest('hex').slice(0, 16)
    return `${value.slice(0, 60)}... <${value.length} characters, sha256 ${hash}>`
  }
  if (Array.isArray(value)) return value.map(shortened)
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shortened(one)]))
}

/** JSON with one line for each value that fits on a line. */
function pretty(value: unknown, indent = ''): string {
  const line = inline(value)
  if (line.length + indent.length <= lineLengthMax || typeof value !== 'object' || value === null) return line
  const deeper = `${indent}  `
  if (Array.isArray(value)) return `[\n${value.map(one => deeper + pretty(one, deeper)).join(',\n')}\n${indent}]`
  const entries = Object.entries(value).map(([key, one]) => `${deeper}${JSON.stringify(key)}: ${pretty(one, deeper)}`)
  return `{\n${entries.join(',\n')}\n${indent}}`
}

function inline(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  const entries = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${inline(one)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const describe = (value: unknown): string => (value === undefined ? 'nothing' : inline(value).slice(0, 400))

/** One line for each difference, with its path. The order of object keys is ignored. */
export function differences(expected: unknown, actual: unknown, path = ''): string[] {
  if (isMap(expected) && isMap(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)])
    return [...keys].flatMap(key => differences(expected[key], actual[key], path === '' ? key : `${path} > ${key}`))
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length)
    return expected.flatMap((one, at) => differences(one, actual[at], `${path}[${at}]`))
  if (inline(expected) === inline(actual)) return []
  return [`${path || '(all)'}\n    expected ${describe(expected)}\n    but got  ${describe(actual)}`]
}
