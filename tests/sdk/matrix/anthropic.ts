/** `@anthropic-ai/sdk` over messages. */
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { askAboutPicture, askForTool, outputTokensMax, pixel, toolResult, weatherTool } from './client.ts'
import type { Connect, Said } from './client.ts'

const { name, description, parameters } = weatherTool
const tools = [{ name, description, input_schema: parameters }] as unknown as Anthropic.Tool[]

const textOf = (message: Anthropic.Message): string =>
  message.content.map(block => (block.type === 'text' ? block.text : '')).join('')

function saidOf(message: Anthropic.Message): Said {
  const { usage } = message
  return {
    text: textOf(message),
    stopped: message.stop_reason === 'end_turn',
    // What the cache was read for is counted apart.
    inputTokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
    outputTokens: usage.output_tokens,
  }
}

export const anthropic: Connect = (url, key) => {
  const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
  const body = (model: string, messages: Anthropic.MessageParam[]) => ({ model, messages, max_tokens: outputTokensMax })
  const user = (content: Anthropic.MessageParam['content']): Anthropic.MessageParam => ({ role: 'user', content })
  return {
    name: '@anthropic-ai/sdk',
    say: async (model, said) => saidOf(await client.messages.create(body(model, [user(said)]))),
    async stream({ model, said, signal, onText }) {
      const run = client.messages.stream(body(model, [user(said)]), { signal })
      run.on('text', onText)
      return saidOf(await run.finalMessage())
    },
    async useTool(model, streamed) {
      const ask = { ...body(model, [user(askForTool)]), tools }
      const asked = streamed ? await client.messages.stream(ask).finalMessage() : await client.messages.create(ask)
      const call = asked.content.find(block => block.type === 'tool_use')
      if (!call || asked.stop_reason !== 'tool_use')
        throw new Error(`no call, but ${asked.stop_reason}: ${textOf(asked)}`)
      const result: Anthropic.ToolResultBlockParam = { type: 'tool_result', tool_use_id: call.id, content: toolResult }
      const messages = [user(askForTool), { role: 'assistant' as const, content: asked.content }, user([result])]
      const answered = await client.messages.create({ ...body(model, messages), tools })
      return { city: (call.input as { city?: unknown }).city, answer: textOf(answered) }
    },
    async see(model) {
      const source = { type: 'base64' as const, media_type: 'image/png' as const, data: pixel }
      return textOf(
        await client.messages.create(
          body(model, [
            user([
              { type: 'text', text: askAboutPicture },
              { type: 'image', source },
            ]),
          ]),
        ),
      )
    },
    statusOf: error => (error instanceof APIError ? error.status : undefined),
  }
}
