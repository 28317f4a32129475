/** The official OpenAI client over `/v1/responses`, on upstreams that only chat. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { expectConforms } from '../support/openai-conformance.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

let gateway: Gateway
let client: OpenAI

beforeAll(async () => {
  gateway = await startGateway()
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: await gateway.key(), maxRetries: 0 })
})
afterAll(() => gateway?.stop())

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
    return undefined
  } catch (error) {
    return error
  }
}

const weather = {
  type: 'function' as const,
  name: 'get_weather',
  strict: false,
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

for (const model of ['chat-model', 'claude-model'])
  describe(model, () => {
    test('text', async () => {
      const answer = await client.responses.create({ model, input: 'say: hello there', instructions: 'be short' })
      expect(answer.output_text).toBe('hello there')
      expect(answer.usage?.total_tokens).toBeGreaterThan(0)
      const { output_text: _, ...sent } = answer
      expectConforms('Response', sent)
    })

    test('the helper of the client builds the same answer from the stream', async () => {
      const stream = client.responses.stream({ model, input: 'say: hello there' })
      const deltas: string[] = []
      stream.on('response.output_text.delta', event => void deltas.push(event.delta))
      const final = await stream.finalResponse()
      expect(deltas.join('')).toBe('hello there')
      expect(final.output_text).toBe('hello there')
      expect(final.status).toBe('completed')
    })

    test('a tool loop by previous_response_id', async () => {
      const asked = await client.responses.create({
        model,
        input: 'Weather in Paris? use the tool',
        tools: [weather],
        tool_choice: 'required',
      })
      const made = asked.output.find(item => item.type === 'function_call')!
      expect(JSON.parse(made.arguments)).toHaveProperty('city')
      const answered = await client.responses.create({
        model,
        previous_response_id: asked.id,
        tools: [weather],
        input: [{ type: 'function_call_output', call_id: made.call_id, output: 'sunny, 21 degrees' }],
      })
      expect(answered.output_text).toContain('sunny')
    })

    test('a streamed custom tool, sent back as it came', async () => {
      const tools: OpenAI.Responses.Tool[] = [{ type: 'custom', name: 'apply_patch', description: 'Edits files' }]
      const stream = client.responses.stream({
        model,
        input: 'use the tool',
        tools,
        tool_choice: 'required',
        store: false,
      })
      const final = await stream.finalResponse()
      const made = final.output.find(item => item.type === 'custom_tool_call')!
      expect(made.name).toBe('apply_patch')
      expect(made.input.length).toBeGreaterThan(0)
      const answered = await client.responses.create({
        model,
        tools,
        store: false,
        input: [
          { role: 'user', content: 'use the tool' },
          ...(final.output as OpenAI.Responses.ResponseInput),
          { type: 'custom_tool_call_output', call_id: made.call_id, output: 'patched' },
        ],
      })
      expect(answered.output_text).toContain('patched')
    })

    test('structured output is parsed', async () => {
      const schema = {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: 'integer' } },
        required: ['name', 'age'],
        additionalProperties: false,
      }
      const answer = await client.responses.parse({
        model,
        input: 'a person',
        text: { format: { type: 'json_schema', name: 'person', strict: true, schema } },
      })
      expect(JSON.parse(answer.output_text)).toMatchObject({ name: expect.any(String), age: expect.any(Number) })
    })

    test('an image is seen', async () => {
      const image_url =
        'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
      const answer = await client.responses.create({
        model,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'What is it?' },
              { type: 'input_image', image_url, detail: 'auto' },
            ],
          },
        ],
      })
      expect(answer.output_text).toContain('1 image')
    })

    test('retrieve, list the input, delete', async () => {
      const made = await client.responses.create({ model, input: 'say: kept' })
      expect((await client.responses.retrieve(made.id)).output_text).toBe('kept')
      const items = []
      for await (const item of client.responses.inputItems.list(made.id)) items.push(item)
      expect(items).toMatchObject([{ type: 'message', role: 'user' }])
      await client.responses.delete(made.id)
      expect(await failure(client.responses.retrieve(made.id))).toBeInstanceOf(OpenAI.NotFoundError)
    })

    test('in the background, polled', async () => {
      let response = await client.responses.create({ model, input: 'say: later', background: true })
      while (response.status === 'queued' || response.status === 'in_progress') {
        await Bun.sleep(20)
        response = await client.responses.retrieve(response.id)
      }
      expect([response.status, response.output_text]).toEqual(['completed', 'later'])
    })
  })

test('errors have their classes', async () => {
  const ask = (more: object) =>
    client.responses.create({
      model: 'chat-model',
      input: 'x',
      ...more,
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
  expect(await failure(ask({ model: 'nope' }))).toBeInstanceOf(OpenAI.NotFoundError)
  expect(await failure(ask({ temperature: 9 }))).toBeInstanceOf(OpenAI.UnprocessableEntityError)
  expect(await failure(ask({ previous_response_id: 'resp_x' }))).toBeInstanceOf(OpenAI.BadRequestError)
})
