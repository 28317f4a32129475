import type { Endpoint } from '../core/endpoint.ts'
import { cursorChat } from '../formats/openai/cursor.ts'
import { openaiChat } from '../formats/openai/chat/index.ts'

/** Chat completions for Cursor, which writes `messages` for some models and `input` for others. */
export const cursorCompletions: Endpoint = {
  method: 'POST',
  paths: ['/cursor/chat/completions'],
  auth: 'key',
  doc: {
    summary: 'Create a chat completion from a chat or a Responses body (for Cursor)',
    tag: 'Chat',
    request: { $ref: '#/components/schemas/ChatCompletionRequest' },
    response: { $ref: '#/components/schemas/ChatCompletion' },
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiChat,
      formatOf: body => (body.has('input') && !body.has('messages') ? cursorChat : openaiChat),
      route: '/v1/chat/completions',
    }),
}
