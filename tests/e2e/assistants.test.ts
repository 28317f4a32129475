/** Assistants, threads, messages and runs over upstreams that only chat: the gateway keeps and runs them itself. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { expectConforms } from '../support/openai-conformance.ts'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

/** An upstream that remembers what it was asked. `wait` in a message = no answer until the connection goes. */
function chatUpstream() {
  const asked: Json[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const body = (await request.json()) as Json
      asked.push(body)
      const last = JSON.stringify(body.messages.at(-1).content)
      const message = last.includes('both')
        ? {
            role: 'assistant',
            content: 'let me look',
            reasoning_content: 'hm',
            tool_calls: [
              { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
            ],
          }
        : { role: 'assistant', content: last.includes('filter') ? 'half' : `heard ${body.messages.length}` }
      const finish_reason = last.includes('filter') ? 'content_filter' : last.includes('both') ? 'tool_calls' : 'stop'
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
      if (!body.stream) {
        if (last.includes('wait')) await new Promise(resolve => request.signal.addEventListener('abort', resolve))
        return Response.json({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model: body.model,
          choices: [{ index: 0, message, finish_reason }],
          usage,
        })
      }
      const chunk = (delta: Json, more: Json = {}) =>
        Buffer.from(
          `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`,
        )
      return new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(chunk({ role: 'assistant', content: 'begun' }))
            if (last.includes('wait')) return
            controller.enqueue(chunk({}, { choices: [{ index: 0, delta: {}, finish_reason }], usage }))
            controller.enqueue(Buffer.from('data: [DONE]\n\n'))
            controller.close()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      )
    },
  })
  return { url: `http://127.0.0.1:${server.port}/v1`, asked, stop: () => server.stop(true) }
}

const config = (upstream: string) =>
  standardConfig.replace(
    'model_list:',
    `model_list:
  - model_name: heard-model
    proxy_params: { model: custom_openai/heard, api_base: "${upstream}", api_key: upstream-key-canary-3 }`,
  )

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

for (const backend of backends())
  describe(`assistants on ${backend.name}`, () => {
    let gateway: Gateway
    let key: string
    const upstream = chatUpstream()

    beforeAll(async () => {
      gateway = await startGateway({ backend, config: config(upstream.url) })
      key = await gateway.key()
    })
    afterAll(async () => {
      await gateway?.stop()
      upstream.stop()
    })

    const call = (method: string, path: string, body?: object, as = key) =>
      fetch(`${gateway.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', 'openai-beta': 'assistants=v2' },
        body: body && JSON.stringify(body),
      })
    const json = async (answer: Promise<Response>, status = 200): Promise<Json> => {
      const response = await answer
      const text = await response.text()
      expect([response.status, text.slice(0, 400)]).toEqual([status, text.slice(0, 400)])
      return JSON.parse(text)
    }
    const get = (path: string, status = 200, as = key) => json(call('GET', path, undefined, as), status)
    const post = (path: string, body: object = {}, status = 200, as = key) => json(call('POST', path, body, as), status)
    const remove = (path: string, status = 200) => json(call('DELETE', path), status)
    const assistantOn = (model: string, more: object = {}) =>
      post('/v1/assistants', { model, instructions: 'be short', ...more })
    const threadSaying = (content: unknown) => post('/v1/threads', { messages: [{ role: 'user', content }] })
    const until = async (run: Json, ...statuses: string[]): Promise<Json> => {
      const deadline = performance.now() + 50_000
      let now = run
      while (!statuses.includes(now.status)) {
        if (performance.now() > deadline) throw new Error(`still ${now.status}: ${JSON.stringify(now)}`)
        await Bun.sleep(15)
        now = await get(`/v1/threads/${run.thread_id}/runs/${run.id}`)
      }
      expectConforms('RunObject', now)
      return now
    }
    const over = (run: Json) =>
      until(run, 'completed', 'failed', 'incomplete', 'cancelled', 'expired', 'requires_action')
    const texts = async (thread: string, query = '?order=asc') =>
      (await get(`/v1/threads/${thread}/messages${query}`)).data.map(
        (message: Json) =>
          `${message.role}: ${message.content.map((part: Json) => part.text?.value ?? part.type).join('|')}`,
      )
    const events = async (answer: Promise<Response>): Promise<[string, Json][]> => {
      const response = await answer
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
      const blocks = (await response.text()).split('\n\n').filter(block => block.startsWith('event: '))
      const list = blocks.map((block): [string, Json] => {
        const [event, data] = block.split('\n') as [string, string]
        return [event.slice(7), data === 'data: [DONE]' ? {} : JSON.parse(data.slice(6))]
      })
      expect(list.at(-1)![0]).toBe('done')
      for (const [event, data] of list.slice(0, -1)) {
        const part = event.startsWith('thread.message')
          ? 'Message'
          : event.startsWith('thread.run.step')
            ? 'RunStep'
            : event === 'thread.created'
              ? 'Thread'
              : 'Run'
        expectConforms(`${part}StreamEvent`, part === 'Thread' ? { event, data } : { event, data })
      }
      return list
    }

    test('schemas of tools keep their digits, stored, changed and shown', async () => {
      const schema = '{"type":"object","properties":{"b":{"maximum":1234567890123456789},"1":{"const":1.0}}}'
      const body = `{"model":"chat-model","tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`
      const headers = { authorization: `Bearer ${key}`, 'openai-beta': 'assistants=v2' }
      const made = await (await fetch(`${gateway.url}/v1/assistants`, { method: 'POST', headers, body })).text()
      expect(made).toContain(schema)
      const path = `/v1/assistants/${JSON.parse(made).id}`
      expect(await (await call('POST', path, { name: 'n' })).text()).toContain(schema)
      expect(await (await call('GET', path)).text()).toContain(schema)
    })

    test('an assistant is made, found, changed, listed and deleted', async () => {
      const made = await post('/v1/assistants', {
        model: 'chat-model',
        name: 'Ada',
        description: 'd',
        instructions: 'i',
        tools: [weather],
        metadata: { a: 'b' },
        temperature: 0.5,
        top_p: 0.9,
        response_format: { type: 'json_object' },
        reasoning_effort: 'low',
        tool_resources: { code_interpreter: { file_ids: [] } },
      })
      expectConforms('AssistantObject', made)
      expect(made).toMatchObject({
        object: 'assistant',
        name: 'Ada',
        tools: [weather],
        reasoning_effort: 'low',
        response_format: { type: 'json_object' },
      })
      expect(await get(`/assistants/${made.id}`)).toEqual(made)
      const changed = await post(`/v1/assistants/${made.id}`, { name: null, model: 'claude-model', tools: null })
      expect(changed).toEqual({ ...made, name: null, model: 'claude-model', tools: [] })
      expect(await get(`/openai/v1/assistants/${made.id}`)).toEqual(changed)
      expect(await remove(`/v1/assistants/${made.id}`)).toEqual({
        id: made.id,
        object: 'assistant.deleted',
        deleted: true,
      })
      await remove(`/v1/assistants/${made.id}`, 404)
      await get(`/v1/assistants/${made.id}`, 404)
    })

    test('lists have pages', async () => {
      const own = await gateway.key()
      const ids: string[] = []
      for (let at = 0; at < 5; at++)
        ids.push((await post('/assistants', { model: 'chat-model', name: `n${at}` }, 200, own)).id)
      const first = await get('/assistants?limit=2&order=asc', 200, own)
      expectConforms('ListAssistantsResponse', first)
      expect([first.first_id, first.last_id, first.has_more]).toEqual([ids[0], ids[1], true])
      const second = await get(`/assistants?limit=10&order=asc&after=${first.last_id}`, 200, own)
      expect([second.data.map((one: Json) => one.id), second.has_more]).toEqual([ids.slice(2), false])
      expect((await get(`/assistants?order=asc&limit=1&before=${ids[2]}`, 200, own)).data[0].id).toBe(ids[1])
      expect((await get('/assistants?limit=100', 200, own)).data.map((one: Json) => one.id)).toEqual(ids.toReversed())
      for (const query of ['limit=0', 'limit=101', 'order=up', 'after=asst_x']) {
        const refused = await get(`/assistants?${query}`, 422, own)
        expect(refused.detail[0].loc).toEqual(['query', query.split('=')[0]])
      }
    })

    test('what is wrong is named, field by field', async () => {
      const model = 'chat-model'
      const wrong: [string, object, (string | number)[]][] = [
        ['/v1/assistants', {}, ['body', 'model']],
        ['/v1/assistants', { model, tools: [{ type: 'code_interpreter' }] }, ['body', 'tools', 0, 'type']],
        [
          '/v1/assistants',
          { model, tools: [{ type: 'function', function: { name: 'a b' } }] },
          ['body', 'tools', 0, 'function', 'name'],
        ],
        [
          '/v1/assistants',
          { model, tool_resources: { file_search: { vector_store_ids: ['vs_1'] } } },
          ['body', 'tool_resources'],
        ],
        ['/v1/assistants', { model, temperature: 3 }, ['body', 'temperature']],
        [
          '/v1/assistants',
          { model, response_format: { type: 'json_schema', json_schema: {} } },
          ['body', 'response_format', 'json_schema', 'name'],
        ],
        ['/v1/assistants', { model, response_format: 'json' }, ['body', 'response_format']],
        ['/v1/assistants', { model, metadata: { a: 1 } }, ['body', 'metadata', 'a']],
        ['/v1/assistants', { model, surprise: 1 }, ['body', 'surprise']],
        ['/v1/threads', { messages: [{ role: 'system', content: 'x' }] }, ['body', 'messages', 0, 'role']],
        ['/v1/threads', { messages: [{ role: 'user', content: '' }] }, ['body', 'messages', 0, 'content']],
        [
          '/v1/threads',
          { messages: [{ role: 'user', content: [{ type: 'image_file', image_file: { file_id: 'f' } }] }] },
          ['body', 'messages', 0, 'content', 0, 'type'],
        ],
        [
          '/v1/threads',
          { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] }] },
          ['body', 'messages', 0, 'content', 0, 'image_url', 'url'],
        ],
        [
          '/v1/threads',
          {
            messages: [{ role: 'assistant', content: [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }] }],
          },
          ['body', 'messages', 0, 'content'],
        ],
        [
          '/v1/threads',
          { messages: [{ role: 'user', content: 'x', attachments: [{ file_id: 'f', tools: [] }] }] },
          ['body', 'messages', 0, 'attachments'],
        ],
        ['/v1/threads/runs', {}, ['body', 'assistant_id']],
        ['/v1/threads/runs', { assistant_id: 'x', max_prompt_tokens: 5 }, ['body', 'max_prompt_tokens']],
        [
          '/v1/threads/runs',
          { assistant_id: 'x', truncation_strategy: { type: 'last_messages' } },
          ['body', 'truncation_strategy', 'last_messages'],
        ],
        ['/v1/threads/runs', { assistant_id: 'x', tool_choice: 'maybe' }, ['body', 'tool_choice']],
      ]
      for (const [path, body, loc] of wrong)
        expect([body, (await post(path, body, 422)).detail.map((one: Json) => one.loc)]).toEqual([body, [loc]])
      for (const path of ['/v1/assistants', '/v1/threads', '/v1/threads/runs'])
        expect(
          (
            await json(
              fetch(`${gateway.url}${path}`, {
                method: 'POST',
                headers: { authorization: `Bearer ${key}` },
                body: '{',
              }),
              400,
            )
          ).error.message,
        ).toContain('in the middle of its JSON')
      expect((await post('/v1/assistants', { model: 'nope' }, 404)).error.code).toBe('model_not_found')
    })

    for (const model of ['chat-model', 'claude-model'])
      test(`${model}: a run answers, and the thread goes on`, async () => {
        const assistant = await assistantOn(model)
        const thread = await threadSaying('say: one')
        expectConforms('ThreadObject', thread)
        const begun = await post(`/v1/threads/${thread.id}/runs`, { assistant_id: assistant.id, metadata: { a: 'b' } })
        expect(begun).toMatchObject({ status: 'queued', instructions: 'be short', model, usage: null })
        expectConforms('RunObject', begun)
        const run = await over(begun)
        expect(run).toMatchObject({ status: 'completed', last_error: null, expires_at: null, metadata: { a: 'b' } })
        expect(run.usage.total_tokens).toBeGreaterThan(0)
        expect(await texts(thread.id)).toEqual(['user: say: one', 'assistant: one'])
        const page = await get(`/v1/threads/${thread.id}/messages?run_id=${run.id}`)
        expectConforms('ListMessagesResponse', page)
        expect(page.data).toMatchObject([
          { role: 'assistant', assistant_id: assistant.id, run_id: run.id, status: 'completed' },
        ])
        await post(`/v1/threads/${thread.id}/messages`, { role: 'user', content: 'say: two' })
        await over(await post(`/threads/${thread.id}/runs`, { assistant_id: assistant.id }))
        expect(await texts(thread.id)).toEqual(['user: say: one', 'assistant: one', 'user: say: two', 'assistant: two'])
        const runs = await get(`/v1/threads/${thread.id}/runs`)
        expectConforms('ListRunsResponse', runs)
        expect(runs.data.map((one: Json) => one.status)).toEqual(['completed', 'completed'])
        // One row a call, under the path that was asked.
        const rows = (await gateway.rows()).filter(
          row => row.route === '/v1/threads/{thread_id}/runs' && row.model === model,
        )
        expect(rows.length).toBeGreaterThanOrEqual(2)
        expect(rows.every(row => row.outcome === 'success' && Number(row.output_tokens) > 0)).toBe(true)
      })

    test('the model is asked what assistant, run and thread say together', async () => {
      const assistant = await assistantOn('heard-model', {
        temperature: 0.5,
        tools: [weather],
        response_format: { type: 'json_object' },
      })
      const thread = await threadSaying([
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'https://x.test/y.png', detail: 'low' } },
      ])
      const run = await over(
        await post(`/v1/threads/${thread.id}/runs`, {
          assistant_id: assistant.id,
          additional_instructions: 'and kind',
          additional_messages: [
            { role: 'assistant', content: 'yes?' },
            { role: 'user', content: 'go' },
          ],
          temperature: 0,
          tool_choice: { type: 'function', function: { name: 'get_weather' } },
          parallel_tool_calls: false,
          reasoning_effort: 'low',
          max_completion_tokens: 300,
        }),
      )
      expect(run).toMatchObject({
        status: 'completed',
        instructions: 'be short\n\nand kind',
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      })
      expect(upstream.asked.at(-1)).toEqual({
        model: 'heard',
        temperature: 0,
        reasoning_effort: 'low',
        response_format: { type: 'json_object' },
        tools: [weather],
        parallel_tool_calls: false,
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
        max_completion_tokens: 300,
        messages: [
          { role: 'system', content: 'be short\n\nand kind' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'look' },
              { type: 'image_url', image_url: { url: 'https://x.test/y.png', detail: 'low' } },
            ],
          },
          { role: 'assistant', content: 'yes?' },
          { role: 'user', content: 'go' },
        ],
      })
      await over(
        await post(`/v1/threads/${thread.id}/runs`, {
          assistant_id: assistant.id,
          instructions: 'other',
          tools: [],
          response_format: 'auto',
          truncation_strategy: { type: 'last_messages', last_messages: 2 },
        }),
      )
      expect(upstream.asked.at(-1)).toEqual({
        model: 'heard',
        temperature: 0.5,
        messages: [
          { role: 'system', content: 'other' },
          { role: 'user', content: 'go' },
          { role: 'assistant', content: 'heard 4' },
        ],
      })
      // A long thread is cut to what the run may read, newest first.
      await post(`/v1/threads/${thread.id}/messages`, { role: 'user', content: `long ${'word '.repeat(2000)}` })
      const limited = () =>
        post(`/v1/threads/${thread.id}/runs`, { assistant_id: assistant.id, tools: [], max_prompt_tokens: 256 })
      expect(await over(await limited())).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_prompt_tokens' },
      })
      await post(`/v1/threads/${thread.id}/messages`, { role: 'user', content: 'short' })
      expect((await over(await limited())).status).toBe('completed')
      expect(upstream.asked.at(-1)!.messages.slice(1)).toEqual([{ role: 'user', content: 'short' }])
    })

    for (const model of ['chat-model', 'claude-model'])
      test(`${model}: a run waits for its tools and goes on with their outputs`, async () => {
        const assistant = await assistantOn(model, { tools: [weather] })
        const thread = await threadSaying('Weather in Paris? use the tool')
        const path = `/v1/threads/${thread.id}/runs`
        const run = await over(await post(path, { assistant_id: assistant.id }))
        expect(run.status).toBe('requires_action')
        const [made] = run.required_action.submit_tool_outputs.tool_calls
        expect([made.function.name, typeof JSON.parse(made.function.arguments).city]).toEqual(['get_weather', 'string'])
        // Meanwhile the thread belongs to this run.
        expect((await post(path, { assistant_id: assistant.id }, 400)).error.message).toContain(
          `already has an active run ${run.id}`,
        )
        expect(
          (await post(`/v1/threads/${thread.id}/messages`, { role: 'user', content: 'x' }, 400)).error.message,
        ).toContain("Can't add messages")
        const submit = (tool_outputs: object[], status = 200) =>
          post(`${path}/${run.id}/submit_tool_outputs`, { tool_outputs }, status)
        for (const bad of [
          [],
          [{ tool_call_id: 'other', output: 'x' }],
          [{ output: 'x' }, { output: 'y' }],
          [
            { tool_call_id: made.id, output: 'x' },
            { tool_call_id: made.id, output: 'y' },
          ],
        ])
          await submit(bad, 422)
        // OpenAI's clients may leave the id out.
        const output = { ...(model === 'claude-model' && { tool_call_id: made.id }), output: 'sunny, 21 degrees' }
        expect(await submit([output])).toMatchObject({ status: 'queued', required_action: null })
        const done = await over({ ...run, status: '' })
        expect(done.status).toBe('completed')
        expect(done.usage.total_tokens).toBeGreaterThan(run.usage.total_tokens)
        expect((await texts(thread.id))[1]).toContain('sunny, 21 degrees')
        expect((await submit([output], 400)).error.message).toContain('do not accept tool outputs')
        const steps = await get(`${path}/${run.id}/steps?order=asc`)
        expectConforms('ListRunStepsResponse', steps)
        expect(steps.data).toMatchObject([
          {
            type: 'tool_calls',
            status: 'completed',
            step_details: { tool_calls: [{ id: made.id, function: { output: 'sunny, 21 degrees' } }] },
          },
          { type: 'message_creation', status: 'completed' },
        ])
        expect(await get(`${path}/${run.id}/steps/${steps.data[0].id}`)).toEqual(steps.data[0])
        await get(`${path}/${run.id}/steps/step_x`, 404)
      })

    test('text and calls of one answer go back together, with the thinking', async () => {
      const assistant = await assistantOn('heard-model', { tools: [weather], instructions: null })
      const run = await over(
        await post('/v1/threads/runs', {
          assistant_id: assistant.id,
          thread: { messages: [{ role: 'user', content: 'both' }] },
        }),
      )
      expect(await texts(run.thread_id)).toEqual(['user: both', 'assistant: let me look'])
      await post(`/v1/threads/${run.thread_id}/runs/${run.id}/submit_tool_outputs`, {
        tool_outputs: [{ tool_call_id: 'c1', output: '21' }],
      })
      expect((await over({ ...run, status: '' })).usage).toEqual({
        prompt_tokens: 20,
        completion_tokens: 10,
        total_tokens: 30,
      })
      const calls = [{ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }]
      expect(upstream.asked.at(-1)!.messages).toEqual([
        { role: 'user', content: 'both' },
        { role: 'assistant', content: 'let me look', tool_calls: calls, reasoning_content: 'hm' },
        { role: 'tool', tool_call_id: 'c1', content: '21' },
      ])
      expect(await texts(run.thread_id)).toEqual(['user: both', 'assistant: let me look', 'assistant: heard 3'])
    })

    for (const model of ['chat-model', 'claude-model'])
      test(`${model}: a run is streamed, with its tools`, async () => {
        const assistant = await assistantOn(model, { tools: [weather] })
        const first = await events(
          call('POST', '/v1/threads/runs', {
            assistant_id: assistant.id,
            stream: true,
            thread: { messages: [{ role: 'user', content: 'use the tool' }] },
          }),
        )
        const names = first.map(([event]) => event)
        expect(names.filter(name => name !== 'thread.run.step.delta')).toEqual([
          'thread.created',
          'thread.run.created',
          'thread.run.queued',
          'thread.run.in_progress',
          'thread.run.step.created',
          'thread.run.step.in_progress',
          'thread.run.requires_action',
          'done',
        ])
        const run = first.at(-2)![1]
        const [made] = run.required_action.submit_tool_outputs.tool_calls
        const pieces = first
          .filter(([event]) => event === 'thread.run.step.delta')
          .map(([, data]) => data.delta.step_details.tool_calls[0])
        expect(pieces[0]).toMatchObject({ index: 0, id: made.id })
        expect(pieces.map(piece => piece.function.arguments).join('')).toBe(made.function.arguments)
        // What a listener hears is kept when it hears it: the next call may come at once.
        const path = `/v1/threads/${run.thread_id}/runs/${run.id}`
        const second = await events(
          call('POST', `${path}/submit_tool_outputs`, {
            stream: true,
            tool_outputs: [{ tool_call_id: made.id, output: 'sunny' }],
          }),
        )
        expect(second.map(([event]) => event).filter(name => name !== 'thread.message.delta')).toEqual([
          'thread.run.step.completed',
          'thread.run.queued',
          'thread.run.in_progress',
          'thread.run.step.created',
          'thread.run.step.in_progress',
          'thread.message.created',
          'thread.message.in_progress',
          'thread.message.completed',
          'thread.run.step.completed',
          'thread.run.completed',
          'done',
        ])
        const said = second
          .filter(([event]) => event === 'thread.message.delta')
          .map(([, data]) => data.delta.content[0].text.value)
          .join('')
        const message = second.find(([event]) => event === 'thread.message.completed')![1]
        expect([said, said.includes('sunny')]).toEqual([message.content[0].text.value, true])
        expect(await get(`/v1/threads/${run.thread_id}/messages/${message.id}`)).toEqual(message)
        expect(await get(path)).toEqual(second.at(-2)![1])
      })

    test('limits and failures end a run in the words of runs', async () => {
      const thread = await threadSaying('tokens: 400')
      const runWith = async (assistant: Json, more: object = {}) =>
        over(await post(`/v1/threads/${thread.id}/runs`, { assistant_id: assistant.id, ...more }))
      const short = await runWith(await assistantOn('chat-model'), { max_completion_tokens: 256 })
      expect(short).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_completion_tokens' },
        usage: { completion_tokens: 256 },
      })
      expect((await get(`/v1/threads/${thread.id}/messages?limit=1`)).data[0]).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_tokens' },
      })
      for (const [model, code] of [
        ['fault/sim#status;code=429', 'rate_limit_exceeded'],
        ['fault/sim#status;code=400', 'invalid_prompt'],
        ['fault/sim#status;code=500', 'server_error'],
        ['nobody', 'server_error'],
      ] as const) {
        const failed = await runWith(await assistantOn(model))
        expect(failed).toMatchObject({ status: 'failed', last_error: { code }, model })
        expect([failed.failed_at > 0, failed.last_error.message.length > 5]).toEqual([true, true])
      }
      const filtered = await threadSaying('filter')
      const stopped = await over(
        await post(`/v1/threads/${filtered.id}/runs`, { assistant_id: (await assistantOn('heard-model')).id }),
      )
      expect(stopped).toMatchObject({
        status: 'failed',
        last_error: { message: expect.stringContaining('content filter') },
      })
      expect((await get(`/v1/threads/${filtered.id}/messages`)).data[0]).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'content_filter' },
        content: [{ text: { value: 'half' } }],
      })
      // A stream that is cut in its middle keeps what there was, and says that it is not all.
      const cut = await events(
        call('POST', `/v1/threads/${thread.id}/runs`, {
          assistant_id: (await assistantOn('fault/sim#cut;at=6')).id,
          stream: true,
        }),
      )
      expect(cut.map(([event]) => event).slice(-4)).toEqual([
        'thread.message.incomplete',
        'thread.run.step.failed',
        'thread.run.failed',
        'done',
      ])
      expect(cut.at(-4)![1]).toMatchObject({ incomplete_details: { reason: 'run_failed' }, status: 'incomplete' })
    })

    test('what the model cannot be given is said', async () => {
      const assistant = await assistantOn('claude-model')
      const run = await over(
        await post('/v1/threads/runs', {
          assistant_id: assistant.id,
          parallel_tool_calls: false,
          tools: [weather],
          reasoning_effort: 'low',
          temperature: 0.3,
          thread: { messages: [{ role: 'user', content: 'say: x' }] },
        }),
      )
      expect(run.status).toBe('completed')
      expect(run.dropped_params).toEqual(['temperature'])
    })

    test('a run is cancelled while the model is asked, and while it waits for tools', async () => {
      const assistant = await assistantOn('heard-model', { tools: [weather] })
      for (const stream of [false, true]) {
        const thread = await threadSaying('wait')
        const path = `/v1/threads/${thread.id}/runs`
        const asked = upstream.asked.length
        const streamed = stream ? events(call('POST', path, { assistant_id: assistant.id, stream })) : undefined
        const begun = stream ? undefined : await post(path, { assistant_id: assistant.id })
        while (upstream.asked.length === asked) await Bun.sleep(5)
        await Bun.sleep(50)
        const run = begun ?? (await get(path)).data[0]
        await until(run, 'in_progress')
        expect((await post(`${path}/${run.id}/cancel`)).status).toBe('cancelling')
        expect((await until(run, 'cancelled')).cancelled_at).toBeGreaterThan(0)
        expect((await post(`${path}/${run.id}/cancel`, {}, 400)).error.message).toBe(
          "Cannot cancel run with status 'cancelled'.",
        )
        if (!streamed) continue
        expect((await streamed).map(([event]) => event).slice(-4)).toEqual([
          'thread.message.incomplete',
          'thread.run.step.cancelled',
          'thread.run.cancelled',
          'done',
        ])
        expect((await get(`/v1/threads/${thread.id}/messages`)).data[0]).toMatchObject({
          content: [{ text: { value: 'begun' } }],
          incomplete_details: { reason: 'run_cancelled' },
        })
      }
      const waiting = await over(
        await post('/v1/threads/runs', {
          assistant_id: assistant.id,
          thread: { messages: [{ role: 'user', content: 'both' }] },
        }),
      )
      const path = `/v1/threads/${waiting.thread_id}/runs/${waiting.id}`
      expect(await post(`${path}/cancel`)).toMatchObject({ status: 'cancelled', required_action: null })
      expect((await get(`${path}/steps?limit=1`)).data[0].status).toBe('cancelled')
      await post(`${path}/submit_tool_outputs`, { tool_outputs: [{ tool_call_id: 'c1', output: 'x' }] }, 400)
      await post(`/v1/threads/${waiting.thread_id}/messages`, { role: 'user', content: 'the thread is free' })
    })

    test('a listener may leave; the run goes on', async () => {
      const assistant = await assistantOn('fault/sim#token-ms=5')
      const thread = await threadSaying('tokens: 40')
      const response = await call('POST', `/v1/threads/${thread.id}/runs`, { assistant_id: assistant.id, stream: true })
      const reader = response.body!.getReader()
      await reader.read()
      await reader.cancel()
      const [run] = (await get(`/v1/threads/${thread.id}/runs`)).data
      expect((await over(run)).status).toBe('completed')
      expect((await get(`/v1/threads/${thread.id}/messages`)).data.length).toBe(2)
    })

    test('a deleted thread takes its run with it', async () => {
      const assistant = await assistantOn('heard-model')
      const thread = await threadSaying('wait')
      const run = await post(`/v1/threads/${thread.id}/runs`, { assistant_id: assistant.id })
      await until(run, 'in_progress')
      expect(await remove(`/v1/threads/${thread.id}`)).toEqual({
        id: thread.id,
        object: 'thread.deleted',
        deleted: true,
      })
      for (const path of ['', `/messages`, `/runs`, `/runs/${run.id}`])
        await get(`/v1/threads/${thread.id}${path}`, 404)
    })

    test('messages and threads are found, changed and deleted', async () => {
      const thread = await post('/v1/threads', { metadata: { a: 'b' } })
      expect(await get(`/threads/${thread.id}`)).toEqual(thread)
      expect((await post(`/v1/threads/${thread.id}`, { metadata: { c: 'd' } })).metadata).toEqual({ c: 'd' })
      const path = `/v1/threads/${thread.id}/messages`
      const message = await post(path, {
        role: 'assistant',
        content: [
          { type: 'text', text: 'x' },
          { type: 'text', text: 'y' },
        ],
      })
      expectConforms('MessageObject', message)
      expect(message.content).toEqual(['x', 'y'].map(value => ({ type: 'text', text: { value, annotations: [] } })))
      expect(await post(`${path}/${message.id}`, { metadata: { k: 'v' } })).toEqual({
        ...message,
        metadata: { k: 'v' },
      })
      const other = await post('/v1/threads')
      await get(`/v1/threads/${other.id}/messages/${message.id}`, 404)
      expect(await remove(`${path}/${message.id}`)).toEqual({
        id: message.id,
        object: 'thread.message.deleted',
        deleted: true,
      })
      expect((await get(path)).data).toEqual([])
    })

    test('another key sees nothing, the operator everything', async () => {
      const stranger = await gateway.key()
      const assistant = await assistantOn('chat-model')
      const thread = await threadSaying('say: mine')
      const run = await over(await post(`/v1/threads/${thread.id}/runs`, { assistant_id: assistant.id }))
      const message = (await get(`/v1/threads/${thread.id}/messages`)).data[0]
      const at = `/v1/threads/${thread.id}`
      for (const path of [
        `/v1/assistants/${assistant.id}`,
        at,
        `${at}/messages`,
        `${at}/messages/${message.id}`,
        `${at}/runs`,
        `${at}/runs/${run.id}`,
        `${at}/runs/${run.id}/steps`,
      ]) {
        await get(path, 404, stranger)
        await get(path, 200, masterKey)
      }
      expect((await get('/v1/assistants', 200, stranger)).data).toEqual([])
      expect((await get('/v1/assistants?limit=100', 200, masterKey)).data.map((one: Json) => one.id)).toContain(
        assistant.id,
      )
      await post(`${at}/messages`, { role: 'user', content: 'x' }, 404, stranger)
      await post(`${at}/runs`, { assistant_id: assistant.id }, 404, stranger)
      await post(`${at}/runs/${run.id}/cancel`, {}, 404, stranger)
      await post('/v1/threads/runs', { assistant_id: assistant.id }, 404, stranger)
      await json(call('DELETE', at, undefined, stranger), 404)
      // What the operator adds belongs to the thread.
      const added = await post(`${at}/messages`, { role: 'user', content: 'say: from above' }, 200, masterKey)
      expect((await get(`${at}/messages/${added.id}`)).content[0].text.value).toBe('say: from above')
      const limited = await gateway.key({ models: ['claude-model'] })
      expect((await post('/v1/assistants', { model: 'chat-model' }, 403, limited)).error.code).toBe('model_not_allowed')
    })
  })
