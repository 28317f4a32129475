/** The text of the user's last words, for scripts to match. */
import { isJsonObject } from '../lib/json.ts'
import { textOf } from '../dialects/openai/chat.ts'

/** The last message of the user; of a prompt, an input or a query when there are no messages. */
export function lastUserText(body: unknown): string {
  if (!isJsonObject(body)) return ''
  const turns = [body.messages, body.contents, body.input].find(list => Array.isArray(list) && list.some(hasRole))
  if (Array.isArray(turns)) return textOfTurn(turns.findLast(turn => hasRole(turn) && turn.role === 'user'))
  return textOf(body.prompt) || textOf(body.input) || textOf(body.query)
}

function hasRole(turn: unknown): turn is { role: string; content?: unknown; parts?: unknown } {
  return isJsonObject(turn) && typeof turn.role === 'string'
}

/** Google says `parts`, all others say `content`. */
function textOfTurn(turn: unknown): string {
  return hasRole(turn) ? textOf(turn.content ?? turn.parts) : ''
}
