/** Vercel's AI SDK, LangChain and Anthropic's own client. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { AzureChatOpenAI, ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { embed, generateText, jsonSchema, streamText, tool } from 'ai'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

describe('other clients', () => {
  let gateway: Gateway
  let key: string

  beforeAll(async () => {
    gateway = await startGateway()
    key = await gateway.key()
  })
  afterAll(() => gateway?.stop())

  for (const model of ['chat-model', 'claude-model']) {
    test(`AI SDK with ${model}: text, stream, tools`, async () => {
      const provider = createOpenAICompatible({
        name: 'modelgate',
        baseURL: `${gateway.url}/v1`,
        apiKey: key,
        includeUsage: true,
      })
      const { text } = await generateText({ model: provider(model), prompt: 'say: hello there', maxRetries: 0 })
      expect(text).toBe('hello there')
      const streamed = streamText({ model: provider(model), prompt: 'say: hello there', maxRetries: 0 })
      let all = ''
      for await (const piece of streamed.textStream) all += piece
      expect(all).toBe('hello there')
      expect((await streamed.usage).outputTokens).toBeGreaterThan(0)
      const called = await generateText({
        model: provider(model),
        prompt: 'Weather in Paris? use the tool',
        toolChoice: 'required',
        maxRetries: 0,
        tools: {
          get_weather: tool({
            description: 'The weather of a city',
            inputSchema: jsonSchema<{ city: string }>({
              type: 'object',
              properties: { city: { type: 'string' } },
              required: ['city'],
            }),
          }),
        },
      })
      expect(called.toolCalls[0]?.toolName).toBe('get_weather')
    })

    test(`LangChain with ${model}: invoke, stream, Azure form`, async () => {
      const chat = new ChatOpenAI({
        model,
        apiKey: key,
        configuration: { baseURL: `${gateway.url}/v1` },
        maxRetries: 0,
      })
      expect((await chat.invoke('say: hello there')).content).toBe('hello there')
      let text = ''
      for await (const piece of await chat.stream('say: hello there')) text += piece.content as string
      expect(text).toBe('hello there')
      // Its body names another model than the path: the path wins.
      const azure = new AzureChatOpenAI({
        azureOpenAIApiKey: key,
        azureOpenAIEndpoint: gateway.url,
        azureOpenAIApiDeploymentName: model,
        azureOpenAIApiVersion: '2024-10-21',
        maxRetries: 0,
      })
      expect((await azure.invoke('say: hello there')).content).toBe('hello there')
    })
  }

  test('embeddings by the AI SDK and LangChain', async () => {
    const provider = createOpenAICompatible({ name: 'modelgate', baseURL: `${gateway.url}/v1`, apiKey: key })
    const { embedding } = await embed({
      model: provider.embeddingModel('embedding-model'),
      value: 'x',
      maxRetries: 0,
    })
    expect(embedding.length).toBeGreaterThan(8)
    const langchain = new OpenAIEmbeddings({
      model: 'embedding-model',
      apiKey: key,
      configuration: { baseURL: `${gateway.url}/v1` },
    })
    expect((await langchain.embedQuery('x')).length).toBeGreaterThan(8)
  })

  test("Anthropic's client lists the models and reads the simulator's Messages", async () => {
    const listed = new Anthropic({ baseURL: gateway.url, apiKey: key, authToken: null, maxRetries: 0 })
    const ids = []
    for await (const model of listed.models.list()) ids.push(model.id)
    expect(ids).toContain('claude-model')
    const direct = new Anthropic({ baseURL: gateway.simulator.url.replace(/\/$/, ''), apiKey: 'any', maxRetries: 0 })
    const stream = direct.messages.stream({
      model: 'sim-claude',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'say: hello there' }],
    })
    const message = await stream.finalMessage()
    expect(message.content).toMatchObject([{ type: 'text', text: 'hello there' }])
    expect(message.stop_reason).toBe('end_turn')
  })
})
