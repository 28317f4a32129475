import type { Endpoint } from '../../core/endpoint.ts'
import { cursorChat } from '../../formats/openai/cursor.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { jsonOrEvents } from '../openapi/schema.ts'

/** Chat completions for Cursor, which sends `messages` for some models and `input` for others. */
export const cursorCompletions: Endpoint = {
  method: 'POST',
  paths: ['/cursor/chat/completions'],
  auth: 'key',
  doc: {
    operationId: 'createCursorChatCompletion',
    summary: 'Create a chat completion from a chat or a Responses body (for Cursor)',
    tag: 'Chat',
    request: { $ref: '#/components/schemas/ChatCompletionRequest' },
    success: jsonOrEvents('ChatCompletion', 'ChatCompletionStream'),
    callsModel: true,
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiChat,
      formatOf: body => (body.has('input') && !body.has('messages') ? cursorChat : openaiChat),
      route: '/v1/chat/completions',
    }),
}
