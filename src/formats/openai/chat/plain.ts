/** What a chat of texts asks for, without making its hub request: most calls with a budget need nothing else. */
import type { PlainChat } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import type { Json } from '../../../lib/json/json-values.ts'

/** Longer bodies may be parsed in part alone. */
const plainBytesMax = 64 * 1024
/** With one of these, a vendor adds instructions, or the answers are of another kind. */
const otherFields = ['tools', 'functions', 'tool_choice', 'function_call', 'response_format'] as const
const messageFields: ReadonlySet<string> = new Set(['role', 'content', 'name'])

/** See `ChatFormat.plain`. */
export function plainChat(body: JsonBody): PlainChat | undefined {
  if (body.size > plainBytesMax) return undefined
  const fields: Json = body.parse()
  for (const name of otherFields) if (fields[name] != null) return undefined
  for (const message of fields.messages as Json[]) {
    if (typeof message.content !== 'string') return undefined
    for (const name in message) if (!messageFields.has(name)) return undefined
  }
  const most = fields.max_completion_tokens ?? fields.max_tokens
  return {
    maxOutputTokens: typeof most === 'number' ? most : undefined,
    choices: typeof fields.n === 'number' ? fields.n : 1,
  }
}
