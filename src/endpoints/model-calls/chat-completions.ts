import { bodySchema } from '../../core/dialects/fields.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { chatOrCursor } from '../../formats/openai/cursor.ts'
import { chatTable } from '../../formats/openai/chat/fields.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { named } from '../openapi/schema.ts'

/**
 * OpenAI API reference, "Create chat completion". The deployment in the path overrides the body's model. Bodies with
 * `input` in place of `messages` are Cursor's.
 */
export const chatCompletions: Endpoint = {
  method: 'POST',
  paths: [
    '/chat/completions',
    '/v1/chat/completions',
    '/openai/v1/chat/completions',
    '/compat/deployments/{model+}/chat/completions',
    '/openai/deployments/{model+}/chat/completions',
    '/engines/{model+}/chat/completions',
    '/v1/engines/{model+}/chat/completions',
    '/cursor/chat/completions',
  ],
  auth: 'key',
  doc: {
    operationId: 'createChatCompletion',
    summary: 'Create a chat completion',
    tag: 'Chat',
    request: named('ChatCompletionRequest', () => bodySchema(chatTable.fields)),
    success: async () => (await import('./answers/chat.ts')).chatSuccess,
    callsModel: true,
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiChat,
      formatOf: chatOrCursor,
      route: '/v1/chat/completions',
      model: request.params.model,
    }),
}
