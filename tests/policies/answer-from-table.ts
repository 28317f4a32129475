import type { ChatRequest } from '../../src/core/hub/chat.ts'
import type { Policy } from '../../src/core/policy.ts'

/**
 * Answers chats whose last text is in the table, without any upstream: whole or as a stream, in the client's dialect.
 */
export function answerFromTable(table: ReadonlyMap<string, string>): Policy {
  return {
    name: 'answer-from-table',
    stage: 'body',
    admit(call) {
      if (call.operation !== 'chat') return undefined
      const input = call.input()
      const text = input.kind === 'chat' ? table.get(lastText(input.request)) : undefined
      if (text === undefined) return undefined
      return call.reply([
        { type: 'start', id: call.id, model: call.model },
        { type: 'text', choice: 0, text },
        { type: 'finish', choice: 0, reason: 'stop' },
        { type: 'usage', usage: { inputTokens: 0, outputTokens: 0 } },
      ])
    },
  }
}

function lastText({ messages }: ChatRequest): string {
  const parts = messages.at(-1)?.parts ?? []
  return parts.map(part => (part.type === 'text' ? part.text : '')).join('')
}
