/** `@mistralai/mistralai` over chat completions, which it reads by Mistral's schema. */
import { Mistral } from '@mistralai/mistralai'
import type * as components from '@mistralai/mistralai/models/components'
import { MistralError } from '@mistralai/mistralai/models/errors'
import { askAboutPicture, askForTool, pixelUrl, toolResult, weatherTool } from './client.ts'
import type { Connect, Said } from './client.ts'

type Messages = components.ChatCompletionRequest['messages']
type Content = components.AssistantMessage['content']

const tools = [{ type: 'function' as const, function: weatherTool as unknown as components.FunctionT }]

/** A text, or parts of which some are text. */
const textOf = (content: Content | undefined): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).map(part => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('')

function saidOf({ choices, usage }: components.ChatCompletionResponse): Said {
  const [choice] = choices
  return {
    text: textOf(choice?.message?.content),
    stopped: choice?.finishReason === 'stop',
    inputTokens: usage.promptTokens ?? -1,
    outputTokens: usage.completionTokens ?? -1,
  }
}

const argumentsOf = (call: components.ToolCall): { city?: unknown } =>
  typeof call.function.arguments === 'string'
    ? (JSON.parse(call.function.arguments) as { city?: unknown })
    : call.function.arguments

export const mistral: Connect = (url, key) => {
  const client = new Mistral({ serverURL: url, apiKey: key, retryConfig: { strategy: 'none' } })
  const create = (model: string, messages: Messages, more: object = {}) =>
    client.chat.complete({ model, messages, ...more })
  const user = (content: components.UserMessage['content']): Messages => [{ role: 'user', content }]
  return {
    name: '@mistralai/mistralai',
    // Mistral reports usage unasked; OpenAI's dialect does not, and this client has no `stream_options`.
    silentStreams: true,
    say: async (model, said) => saidOf(await create(model, user(said))),
    async stream({ model, said, signal, onText }) {
      const stream = await client.chat.stream({ model, messages: user(said) }, { signal })
      let text = ''
      let stopped = false
      let usage: components.UsageInfo | undefined
      for await (const { data } of stream) {
        usage = data.usage ?? usage
        const piece = textOf(data.choices[0]?.delta.content)
        if (piece !== '') onText(piece)
        text += piece
        stopped ||= data.choices[0]?.finishReason === 'stop'
      }
      // This client ends an aborted iteration without an error.
      signal?.throwIfAborted()
      return { text, stopped, inputTokens: usage?.promptTokens ?? -1, outputTokens: usage?.completionTokens ?? -1 }
    },
    async useTool(model, streamed) {
      const messages = user(askForTool)
      const calls: components.ToolCall[] = []
      if (streamed) {
        // It has no helper: pieces of one call have its index.
        for await (const { data } of await client.chat.stream({ model, messages, tools }))
          for (const call of data.choices[0]?.delta.toolCalls ?? []) {
            const known = calls[call.index ?? 0]
            if (known)
              known.function.arguments = `${String(known.function.arguments)}${String(call.function.arguments)}`
            else calls[call.index ?? 0] = call
          }
      } else calls.push(...((await create(model, messages, { tools })).choices[0]?.message?.toolCalls ?? []))
      const [call] = calls
      if (!call) throw new Error('no call')
      messages.push(
        { role: 'assistant', content: '', toolCalls: calls },
        { role: 'tool', toolCallId: call.id!, name: call.function.name, content: toolResult },
      )
      return { city: argumentsOf(call).city, answer: saidOf(await create(model, messages, { tools })).text }
    },
    see: async model =>
      saidOf(
        await create(
          model,
          user([
            { type: 'text', text: askAboutPicture },
            { type: 'image_url', imageUrl: pixelUrl },
          ]),
        ),
      ).text,
    statusOf: error => (error instanceof MistralError ? error.statusCode : undefined),
  }
}
