/** The end of a stream of server-sent events whose last blank line is missing. */
import { isObject } from '../../lib/json/json-values.ts'

/** Whether what stands after the last blank line is an event of which only that line is missing. */
export function isWholeEvent(rest: string): boolean {
  const data = rest
    .split(/\r\n|\n|\r/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice('data:'.length))
  if (data.length === 0) return false
  try {
    return isObject(JSON.parse(data.join('\n')))
  } catch {
    return false
  }
}
