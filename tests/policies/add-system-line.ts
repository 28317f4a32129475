import type { Policy } from '../../src/core/policy.ts'

/** Puts a line before the system prompt of every chat; the call is then translated instead of forwarded. */
export function addSystemLine(line: string): Policy {
  return {
    name: 'add-system-line',
    stage: 'body',
    admit(call) {
      if (call.operation !== 'chat') return
      call.change(input => {
        if (input.kind !== 'chat') return
        const { messages } = input.request
        const first = messages[0]
        if (first?.role === 'system') first.parts.unshift({ type: 'text', text: `${line}\n` })
        else messages.unshift({ role: 'system', parts: [{ type: 'text', text: line }] })
      })
    },
  }
}
