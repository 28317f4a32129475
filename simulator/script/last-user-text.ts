/** The text of the last user message, which scripts match against. */
import { isJsonObject } from '../lib/json.ts'
import { textOf } from '../dialects/openai/chat.ts'

/** Falls back to the text of a prompt, an input or a query when there are no messages. */
export function lastUserText(body: unknown): string {
  if (!isJsonObject(body)) return ''
  const turns = [body.messages, body.contents, body.input].find(list => Array.isArray(list) && list.some(hasRole))
  if (Array.isArray(turns)) return textOfTurn(turns.findLast(turn => hasRole(turn) && turn.role === 'user'))
  return textOf(body.prompt) || textOf(body.input) || textOf(body.inputText) || textOf(body.query)
}

function hasRole(turn: unknown): turn is { role: string; content?: unknown; parts?: unknown } {
  return isJsonObject(turn) && typeof turn.role === 'string'
}

/** Google's API names the content `parts`; all others name it `content`. */
function textOfTurn(turn: unknown): string {
  return hasRole(turn) ? textOf(turn.content ?? turn.parts) : ''
}
