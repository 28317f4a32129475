/** Pictures and files in results of tools, for upstreams whose tool messages hold text alone. */
import type { Message, Part } from '../../core/hub/chat.ts'

type Result = Extract<Part, { type: 'tool-result' }>

/**
 * The messages with the parts of results that `moves` behind them, in the next message of the user or in one of its
 * own: results must be adjacent. The same list where there are none.
 */
export function mediaBehindResults(messages: readonly Message[], moves: (part: Part) => boolean): readonly Message[] {
  if (!messages.some(({ parts }) => parts.some(part => part.type === 'tool-result' && part.parts.some(moves))))
    return messages
  const out: Message[] = []
  let media: Part[] = []
  for (const message of messages) {
    const results = message.parts.filter(part => part.type === 'tool-result')
    const rest = results.length > 0 ? message.parts.filter(part => part.type !== 'tool-result') : message.parts
    if (results.length > 0) {
      out.push({ role: 'tool', parts: results.map(result => without(result, moves)) })
      media.push(...results.flatMap(result => result.parts.filter(moves)))
      if (rest.length === 0) continue
    }
    const joins = media.length > 0 && message.role === 'user'
    if (media.length > 0 && !joins) out.push({ role: 'user', parts: media })
    out.push({ ...message, parts: joins ? [...media, ...rest] : rest })
    media = []
  }
  if (media.length > 0) out.push({ role: 'user', parts: media })
  return out
}

const without = (result: Result, moves: (part: Part) => boolean): Result => ({
  ...result,
  parts: result.parts.filter(part => !moves(part)),
})
