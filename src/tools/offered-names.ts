/** The names by which clients and models know tools: `server-tool`, in the letters that every vendor takes. */
import { createHash } from 'node:crypto'

/** What OpenAI, Anthropic and Gemini take as the name of a function (their API documents, read 2026-11-29). */
const nameLengthMax = 64
const hashLength = 8

/**
 * The offered name of a tool: the same for the same names wherever and whenever it is made. A name that does not fit is
 * cut and ends in a part of its hash, so that two that begin alike stay two. `prefix` has no hyphen.
 */
export function offeredName(prefix: string, tool: string): string {
  const plain = `${prefix}-${tool.replace(/[^A-Za-z0-9_-]/g, '_')}`
  if (plain.length <= nameLengthMax && plain.length === prefix.length + 1 + tool.length && plain.endsWith(tool))
    return plain
  const hash = createHash('sha256').update(`${prefix}\n${tool}`).digest('hex').slice(0, hashLength)
  return `${plain.slice(0, nameLengthMax - hashLength - 1)}_${hash}`
}

/** What stands before the first hyphen; undefined = the name has none. */
export function prefixOf(name: string): string | undefined {
  const end = name.indexOf('-')
  return end <= 0 ? undefined : name.slice(0, end)
}
