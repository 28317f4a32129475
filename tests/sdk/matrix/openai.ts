/** `openai` over chat completions; Groq's client is made by the same generator and is asked the same. */
import Groq from 'groq-sdk'
import OpenAI, { APIError } from 'openai'
import { askAboutPicture, askForTool, pixelUrl, toolResult, weatherTool } from './client.ts'
import type { Connect, Said, SdkClient, StreamWish } from './client.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]

const tools = [{ type: 'function' as const, function: weatherTool as unknown as OpenAI.FunctionDefinition }]

function saidOf({ choices, usage }: OpenAI.ChatCompletion): Said {
  const [choice] = choices
  return {
    text: choice?.message.content ?? '',
    stopped: choice?.finish_reason === 'stop',
    inputTokens: usage?.prompt_tokens ?? -1,
    outputTokens: usage?.completion_tokens ?? -1,
  }
}

async function converse(
  ask: (messages: Messages) => Promise<OpenAI.ChatCompletion>,
  answer: (messages: Messages) => Promise<OpenAI.ChatCompletion>,
): Promise<{ city: unknown; answer: string }> {
  const messages: Messages = [{ role: 'user', content: askForTool }]
  const { message, finish_reason: reason } = (await ask(messages)).choices[0]!
  const call = message.tool_calls?.[0]
  if (reason !== 'tool_calls' || call?.type !== 'function')
    throw new Error(`no call, but ${reason}: ${message.content}`)
  messages.push(message, { role: 'tool', tool_call_id: call.id, content: toolResult })
  return {
    city: (JSON.parse(call.function.arguments) as { city?: unknown }).city,
    answer: saidOf(await answer(messages)).text,
  }
}

const picture: Messages = [
  {
    role: 'user',
    content: [
      { type: 'text', text: askAboutPicture },
      { type: 'image_url', image_url: { url: pixelUrl } },
    ],
  },
]

export const openaiChat: Connect = (url, key) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const create = (model: string, messages: Messages, more: object = {}) =>
    client.chat.completions.create({ model, messages, ...more })
  const streamed = (model: string, messages: Messages, more: object = {}) =>
    client.chat.completions.stream({ model, messages, stream_options: { include_usage: true }, ...more })
  return {
    name: 'openai',
    say: async (model, said) => saidOf(await create(model, [{ role: 'user', content: said }])),
    async stream({ model, said, signal, onText }) {
      const run = client.chat.completions.stream(
        { model, messages: [{ role: 'user', content: said }], stream_options: { include_usage: true } },
        { signal },
      )
      run.on('content', onText)
      return saidOf(await run.finalChatCompletion())
    },
    useTool: (model, isStreamed) =>
      converse(
        messages =>
          isStreamed ? streamed(model, messages, { tools }).finalChatCompletion() : create(model, messages, { tools }),
        messages => create(model, messages, { tools }),
      ),
    see: async model => saidOf(await create(model, picture)).text,
    statusOf: error => (error instanceof APIError ? error.status : undefined),
  }
}

/** It has no helper for streams: the pieces are put together here. */
export const groq: Connect = (url, key): SdkClient => {
  const client = new Groq({ baseURL: url, apiKey: key, maxRetries: 0 })
  const create = async (model: string, messages: Messages, more: object = {}): Promise<OpenAI.ChatCompletion> =>
    (await client.chat.completions.create({
      model,
      messages: messages as Groq.Chat.ChatCompletionMessageParam[],
      ...more,
    })) as unknown as OpenAI.ChatCompletion
  const gather = async ({
    model,
    messages,
    signal,
    onText,
    more = {},
  }: Omit<StreamWish, 'said'> & { messages: Messages; more?: object }) => {
    const body = {
      model,
      messages: messages as Groq.Chat.ChatCompletionMessageParam[],
      stream: true as const,
      stream_options: { include_usage: true },
      ...more,
    }
    const stream = (await client.chat.completions.create(body, {
      signal,
    })) as AsyncIterable<Groq.Chat.ChatCompletionChunk>
    return joined(stream as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>, onText)
  }
  return {
    name: 'groq-sdk',
    say: async (model, said) => saidOf(await create(model, [{ role: 'user', content: said }])),
    async stream({ said, ...wish }) {
      const answer = saidOf(await gather({ ...wish, messages: [{ role: 'user', content: said }] }))
      // This client ends an aborted iteration without an error.
      wish.signal?.throwIfAborted()
      return answer
    },
    useTool: (model, isStreamed) =>
      converse(
        messages =>
          isStreamed
            ? gather({ model, messages, onText: () => {}, more: { tools } })
            : create(model, messages, { tools }),
        messages => create(model, messages, { tools }),
      ),
    see: async model => saidOf(await create(model, picture)).text,
    statusOf: error => (error instanceof Groq.APIError ? error.status : undefined),
  }
}

/** Chunks of one choice as the whole. */
async function joined(
  stream: AsyncIterable<OpenAI.ChatCompletionChunk>,
  onText: (piece: string) => void,
): Promise<OpenAI.ChatCompletion> {
  let content = ''
  let finish_reason: string | null = null
  let usage: OpenAI.CompletionUsage | null | undefined
  const calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = []
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage
    const [choice] = chunk.choices
    if (!choice) continue
    finish_reason = choice.finish_reason ?? finish_reason
    if (choice.delta.content) onText(choice.delta.content)
    content += choice.delta.content ?? ''
    for (const { index, id, function: called } of choice.delta.tool_calls ?? []) {
      calls[index] ??= { id: id!, type: 'function', function: { name: called!.name!, arguments: '' } }
      calls[index].function.arguments += called?.arguments ?? ''
    }
  }
  const message = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) }
  return { choices: [{ index: 0, message, finish_reason }], usage } as unknown as OpenAI.ChatCompletion
}
