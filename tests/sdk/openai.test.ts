/** The official OpenAI client, newest and the major before, and its Azure form. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI, { AzureOpenAI } from 'openai'
import OpenAIBefore from 'openai-v6'
import { expectConforms } from '../support/openai-conformance.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'

const hello = [{ role: 'user' as const, content: 'say: hello there' }]
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
    return undefined
  } catch (error) {
    return error
  }
}

const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const clients = {
  'openai 7': (url: string, key: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 }),
  'openai 6': (url: string, key: string) =>
    new OpenAIBefore({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 }) as unknown as OpenAI,
  'Azure of openai 7': (url: string, key: string) =>
    new AzureOpenAI({ endpoint: url, apiKey: key, apiVersion: '2024-10-21', maxRetries: 0 }) as unknown as OpenAI,
}

for (const [name, connect] of Object.entries(clients))
  describe(name, () => {
    let gateway: Gateway
    let client: OpenAI

    beforeAll(async () => {
      gateway = await startGateway()
      client = connect(gateway.url, await gateway.key({ rpm_limit: 1000, user_id: 'sdk' }))
    })
    afterAll(() => gateway?.stop())

    for (const model of ['chat-model', 'claude-model']) {
      test(`${model}: text`, async () => {
        const { data, response } = await client.chat.completions.create({ model, messages: hello }).withResponse()
        expect(data.choices[0]?.message.content).toBe('hello there')
        expect(data.choices[0]?.finish_reason).toBe('stop')
        expect(data.model).toBe(model)
        expect(data.usage?.total_tokens).toBeGreaterThan(0)
        expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
        expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1000')
        expectConforms('CreateChatCompletionResponse', data)
      })

      test(`${model}: stream with usage`, async () => {
        const stream = await client.chat.completions.create({
          model,
          messages: hello,
          stream: true,
          stream_options: { include_usage: true },
        })
        let text = ''
        let usage: OpenAI.CompletionUsage | null | undefined
        let finish: string | null = null
        for await (const chunk of stream) {
          expectConforms('CreateChatCompletionStreamResponse', chunk)
          expect(chunk.model).toBe(model)
          text += chunk.choices[0]?.delta.content ?? ''
          finish = chunk.choices[0]?.finish_reason ?? finish
          usage = chunk.usage ?? usage
        }
        expect(text).toBe('hello there')
        expect(finish).toBe('stop')
        expect(usage?.completion_tokens).toBeGreaterThan(0)
      })

      test(`${model}: a tool loop`, async () => {
        const messages: OpenAI.ChatCompletionMessageParam[] = [
          { role: 'user', content: 'Weather in Paris? use the tool' },
        ]
        const asked = await client.chat.completions.create({
          model,
          messages,
          tools: [weather],
          tool_choice: 'required',
        })
        const choice = asked.choices[0]!
        expect(choice.finish_reason).toBe('tool_calls')
        const call = choice.message.tool_calls![0]!
        expect(call.type === 'function' && call.function.name).toBe('get_weather')
        if (call.type === 'function') expect(JSON.parse(call.function.arguments)).toHaveProperty('city')
        messages.push(choice.message, { role: 'tool', tool_call_id: call.id, content: 'sunny, 21 degrees' })
        const answered = await client.chat.completions.create({ model, messages, tools: [weather] })
        expect(answered.choices[0]?.message.content).toContain('sunny')
        expect(answered.choices[0]?.finish_reason).toBe('stop')
      })

      test(`${model}: streamed tool calls`, async () => {
        const runner = client.chat.completions.stream({
          model,
          messages: [{ role: 'user', content: 'Weather? use the tool' }],
          tools: [weather],
          tool_choice: 'required',
        })
        const final = await runner.finalChatCompletion()
        const call = final.choices[0]!.message.tool_calls![0]!
        expect(call.type === 'function' && call.function.name).toBe('get_weather')
        if (call.type === 'function') expect(JSON.parse(call.function.arguments)).toHaveProperty('city')
      })

      test(`${model}: an image is seen`, async () => {
        const answer = await client.chat.completions.create({
          model,
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: 'What is it?' },
                { type: 'image_url', image_url: { url: pixel } },
              ],
            },
          ],
        })
        expect(answer.choices[0]?.message.content).toContain('1 image')
      })
    }

    test('several choices, logprobs, stop and a length limit', async () => {
      const answer = await client.chat.completions.create({
        model: 'chat-model',
        messages: hello,
        n: 2,
        logprobs: true,
        top_logprobs: 2,
        seed: 7,
        max_tokens: 2,
      })
      expect(answer.choices.length).toBe(2)
      expect(answer.choices[0]?.finish_reason).toBe('length')
      expect(answer.choices[0]?.logprobs?.content?.length).toBeGreaterThan(0)
    })

    test('structured output', async () => {
      const answer = await client.chat.completions.create({
        model: 'chat-model',
        messages: [{ role: 'user', content: 'a person' }],
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'person',
            strict: true,
            schema: {
              type: 'object',
              properties: { name: { type: 'string' }, age: { type: 'integer' } },
              required: ['name', 'age'],
              additionalProperties: false,
            },
          },
        },
      })
      expect(JSON.parse(answer.choices[0]!.message.content!)).toMatchObject({
        name: expect.any(String),
        age: expect.any(Number),
      })
    })

    test('text completions, also emulated on a model that only chats', async () => {
      for (const model of ['chat-model', 'claude-model']) {
        const answer = await client.completions.create({ model, prompt: 'say: once upon' })
        expect(answer.object).toBe('text_completion')
        expect(answer.choices[0]?.text).toContain('once upon')
        expect(answer.usage?.total_tokens).toBeGreaterThan(0)
        expectConforms('CreateCompletionResponse', answer)
      }
    })

    test('embeddings, which this client always asks for in base64', async () => {
      const answer = await client.embeddings.create({ model: 'embedding-model', input: ['a', 'b'] })
      expect(answer.data.map(one => one.index)).toEqual([0, 1])
      expect(answer.data[0]!.embedding.length).toBeGreaterThan(8)
      expect(answer.data[0]!.embedding.every(Number.isFinite)).toBe(true)
    })

    test('errors have their classes', async () => {
      const classes = name === 'openai 6' ? OpenAIBefore : OpenAI
      const ask = (one: OpenAI, more: object) =>
        failure(one.chat.completions.create({ model: 'chat-model', messages: hello, ...more }))
      expect(await ask(client, { model: 'nope' })).toBeInstanceOf(classes.NotFoundError)
      expect(await ask(connect(gateway.url, 'sk-unknown'), {})).toBeInstanceOf(classes.AuthenticationError)
      expect(await ask(client, { temperature: 9 })).toBeInstanceOf(classes.UnprocessableEntityError)
    })

    test('an error inside a stream reaches the caller', async () => {
      const broken = (async () => {
        const stream = await client.chat.completions.create({
          model: 'fault/sim#cut',
          messages: [{ role: 'user', content: 'tokens: 30' }],
          stream: true,
        })
        for await (const chunk of stream) void chunk
      })()
      await expect(broken).rejects.toThrow()
    })

    test('leaving a stream early closes the upstream', async () => {
      const stream = await client.chat.completions.create({
        model: 'fault/sim#token-ms=20',
        messages: [{ role: 'user', content: 'tokens: 500' }],
        stream: true,
      })
      for await (const chunk of stream) {
        void chunk
        break
      }
      const last = gateway.simulator.truth.entries.at(-1)!
      await until(() => last.finished === 'client-closed', 'the upstream is closed')
      await until(async () => (await gateway.rows())[0]?.outcome === 'client_closed', 'it is in the ledger')
    })

    test.if(!name.startsWith('Azure'))('models', async () => {
      const ids = []
      for await (const model of client.models.list()) ids.push(model.id)
      expect(ids).toContain('chat-model')
      expect((await client.models.retrieve('chat-model')).id).toBe('chat-model')
    })
  })
