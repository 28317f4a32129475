/** The official OpenAI client over assistants, threads and runs, on upstreams that only chat. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
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

const weather: OpenAI.Beta.AssistantTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const textOf = (message: OpenAI.Beta.Threads.Message | undefined) =>
  message?.content.map(part => (part.type === 'text' ? part.text.value : part.type)).join('')
const poll = { pollIntervalMs: 20 }

for (const model of ['chat-model', 'claude-model'])
  describe(model, () => {
    const assistant = (more: Partial<OpenAI.Beta.AssistantCreateParams> = {}) =>
      client.beta.assistants.create({ model, instructions: 'be short', ...more })

    test('assistants: create, update, list through all pages, delete', async () => {
      const name = `page ${model}`
      const made = [await assistant({ name }), await assistant({ name }), await assistant({ name })]
      await client.beta.assistants.update(made[0]!.id, { metadata: { a: 'b' } })
      expect((await client.beta.assistants.retrieve(made[0]!.id)).metadata).toEqual({ a: 'b' })
      const listed: string[] = []
      for await (const one of client.beta.assistants.list({ limit: 2, order: 'asc' }))
        if (one.name === name) listed.push(one.id)
      expect(listed).toEqual(made.map(one => one.id))
      for (const one of made) expect((await client.beta.assistants.delete(one.id)).deleted).toBe(true)
      expect(await failure(client.beta.assistants.retrieve(made[0]!.id))).toBeInstanceOf(OpenAI.NotFoundError)
    })

    test('a run by createAndPoll, in a thread with a picture', async () => {
      const { id: assistant_id } = await assistant()
      const url =
        'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
      const thread = await client.beta.threads.create()
      await client.beta.threads.messages.create(thread.id, {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url } },
        ],
      })
      const run = await client.beta.threads.runs.createAndPoll(thread.id, { assistant_id }, poll)
      expect([run.status, run.usage!.total_tokens > 0]).toEqual(['completed', true])
      const { data } = await client.beta.threads.messages.list(thread.id, { run_id: run.id })
      expect(textOf(data[0])).toContain('1 image')
      expect((await client.beta.threads.delete(thread.id)).deleted).toBe(true)
    })

    test('a tool loop by createAndRunPoll and submitToolOutputsAndPoll', async () => {
      const { id: assistant_id } = await assistant({ tools: [weather] })
      const run = await client.beta.threads.createAndRunPoll(
        { assistant_id, thread: { messages: [{ role: 'user', content: 'use the tool' }] } },
        poll,
      )
      expect(run.status).toBe('requires_action')
      const tool_outputs = run.required_action!.submit_tool_outputs.tool_calls.map(call => ({
        tool_call_id: call.id,
        output: 'sunny',
      }))
      const done = await client.beta.threads.runs.submitToolOutputsAndPoll(
        run.id,
        { thread_id: run.thread_id, tool_outputs },
        poll,
      )
      expect(done.status).toBe('completed')
      expect(textOf((await client.beta.threads.messages.list(run.thread_id)).data[0])).toContain('sunny')
      const steps: string[] = []
      for await (const step of client.beta.threads.runs.steps.list(run.id, {
        thread_id: run.thread_id,
        order: 'asc',
        limit: 1,
      }))
        steps.push(step.type)
      expect(steps).toEqual(['tool_calls', 'message_creation'])
    })

    test('the helper of the client builds the same messages from the stream', async () => {
      const { id: assistant_id } = await assistant({ tools: [weather] })
      const deltas: string[] = []
      const first = client.beta.threads.createAndRunStream({
        assistant_id,
        thread: { messages: [{ role: 'user', content: 'use the tool' }] },
      })
      const asked = await first.finalRun()
      const [call] = asked.required_action!.submit_tool_outputs.tool_calls
      const [step] = await first.finalRunSteps()
      expect(step).toMatchObject({
        type: 'tool_calls',
        step_details: { tool_calls: [{ id: call!.id, function: { arguments: call!.function.arguments } }] },
      })
      const second = client.beta.threads.runs.submitToolOutputsStream(asked.id, {
        thread_id: asked.thread_id,
        tool_outputs: [{ tool_call_id: call!.id, output: 'sunny' }],
      })
      second.on('textDelta', delta => void deltas.push(delta.value ?? ''))
      const [message] = await second.finalMessages()
      expect((await second.finalRun()).status).toBe('completed')
      expect(textOf(message)).toBe(deltas.join(''))
      expect(textOf(message)).toContain('sunny')
      expect(await client.beta.threads.messages.retrieve(message!.id, { thread_id: asked.thread_id })).toEqual(message!)
    })
  })

test('errors have their classes', async () => {
  const { id: assistant_id } = await client.beta.assistants.create({ model: 'chat-model', tools: [weather] })
  expect(await failure(client.beta.assistants.create({ model: 'nope' }))).toBeInstanceOf(OpenAI.NotFoundError)
  expect(
    await failure(client.beta.assistants.create({ model: 'chat-model', tools: [{ type: 'file_search' }] })),
  ).toBeInstanceOf(OpenAI.UnprocessableEntityError)
  const run = await client.beta.threads.createAndRunPoll(
    { assistant_id, thread: { messages: [{ role: 'user', content: 'use the tool' }] } },
    poll,
  )
  expect(await failure(client.beta.threads.runs.create(run.thread_id, { assistant_id }))).toBeInstanceOf(
    OpenAI.BadRequestError,
  )
  expect((await client.beta.threads.runs.cancel(run.id, { thread_id: run.thread_id })).status).toBe('cancelled')
})
