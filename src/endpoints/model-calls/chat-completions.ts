import { bodySchema } from '../../core/dialects/fields.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { chatOrCursor } from '../../formats/openai/cursor.ts'
import { chatTable } from '../../formats/openai/chat/fields.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { named } from '../openapi/schema.ts'
import { runChat } from './tool-loop/chat-answer.ts'
import { prepareChatRun } from './tool-loop/chat-turns.ts'
import type { ChatRun } from './tool-loop/chat-turns.ts'
import { mentionsTools } from './tool-loop/tool-runner.ts'

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
  async handle(request, services, caller) {
    let run: ChatRun | undefined
    const answer = await services.callModel(request, caller!, {
      format: openaiChat,
      formatOf: chatOrCursor,
      route: '/v1/chat/completions',
      model: request.params.model,
      prepare(call) {
        if (call.format !== openaiChat || !mentionsTools(call.body!)) return
        return prepareChatRun(call, { request, services }).then(prepared => void (run = prepared))
      },
    })
    return run ? runChat(answer, run) : answer
  },
}
