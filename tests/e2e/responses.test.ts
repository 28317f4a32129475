/** /v1/responses on both lanes: over upstreams that only chat, and over one that speaks the dialect itself. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { expectConforms } from '../support/openai-conformance.ts'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

/** An upstream that speaks Responses; it remembers what it was asked and answers the last text it got. */
function responsesUpstream() {
  const asked: Json[] = []
  let failing = false
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = (await request.json()) as Json
      asked.push(body)
      const items = typeof body.input === 'string' ? [{ content: body.input }] : (body.input ?? [{ content: '' }])
      const said = JSON.stringify(items.at(-1).content ?? items.at(-1).output).includes('slow')
        ? 'slow'
        : `${items.length} items`
      if (said === 'slow') await Bun.sleep(1500)
      const id = `resp_up_${asked.length}`
      const message = {
        id: `msg_up_${asked.length}`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: said, annotations: [], logprobs: [] }],
      }
      const thought = { id: `rs_up_${asked.length}`, type: 'reasoning', summary: [] }
      const usage = {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 15,
      }
      const response = {
        id,
        object: 'response',
        model: body.model,
        status: 'completed',
        output: [thought, message],
        usage,
        error: null,
        previous_response_id: null,
        store: true,
      }
      if (!body.stream) return Response.json(response)
      const event = (type: string, fields: Json) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...fields })}\n\n`
      const head = event('response.created', {
        response: { ...response, status: 'in_progress', output: [], usage: null },
      })
      if (failing)
        return new Response(
          head +
            event('response.failed', {
              response: { ...response, status: 'failed', error: { code: 'server_error', message: 'boom' } },
            }),
          { headers: { 'content-type': 'text/event-stream' } },
        )
      const delta = event('response.output_text.delta', {
        item_id: message.id,
        output_index: 1,
        content_index: 0,
        delta: said,
      })
      return new Response(head + delta + event('response.completed', { response }), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    asked,
    fail: (now: boolean) => void (failing = now),
    stop: () => server.stop(true),
  }
}

const config = (upstream: string) =>
  standardConfig.replace(
    'model_list:',
    `model_list:
  - model_name: native-model
    proxy_params: { model: openai/gpt-up, api_base: "${upstream}", api_key: upstream-key-canary-3, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
    model_info: { id: native-deployment }`,
  )

for (const backend of backends())
  describe(`responses on ${backend.name}`, () => {
    let gateway: Gateway
    let key: string
    const upstream = responsesUpstream()

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
        headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
        body: body && JSON.stringify(body),
      })
    const json = async (answer: Promise<Response>, status = 200): Promise<Json> => {
      const response = await answer
      const text = await response.text()
      expect([response.status, text.slice(0, 300)]).toEqual([status, text.slice(0, 300)])
      return JSON.parse(text)
    }
    const create = (body: object, status = 200) => json(call('POST', '/v1/responses', body), status)
    const textOf = (response: Json): string =>
      response.output
        .filter((item: Json) => item.type === 'message')
        .map((item: Json) => item.content.map((part: Json) => part.text).join(''))
        .join('')
    const events = async (body: object): Promise<Json[]> => {
      return eventsIn(await (await call('POST', '/v1/responses', { ...body, stream: true })).text())
    }
    const eventsIn = (text: string): Json[] =>
      text
        .split('\n\n')
        .filter(block => block.startsWith('event:'))
        .map(block => JSON.parse(block.slice(block.indexOf('data: ') + 6)))

    for (const model of ['chat-model', 'claude-model', 'native-model'])
      test(`${model}: an answer is stored, found again, continued and deleted`, async () => {
        const first = await create({ model, input: 'say: one', metadata: { a: 'b' } })
        if (model !== 'native-model') {
          expect(textOf(first)).toBe('one')
          expectConforms('Response', first)
        }
        expect(await json(call('GET', `/v1/responses/${first.id}`))).toEqual(first)
        const second = (
          await events({ model, input: [{ role: 'user', content: 'say: two' }], previous_response_id: first.id })
        ).at(-1)!.response
        expect(second).toMatchObject({ status: 'completed', previous_response_id: first.id, model })
        expect(await json(call('GET', `/responses/${second.id}`))).toEqual(second)
        const third = await create({ model, input: 'tokens: 3', previous_response_id: second.id })
        // Two turns of question and answer, and the question: every upstream has seen them all.
        if (model === 'native-model') expect(textOf(third)).toBe('7 items')
        const items = await json(call('GET', `/v1/responses/${third.id}/input_items?order=asc`))
        expect(items).toMatchObject({
          object: 'list',
          has_more: false,
          data: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'tokens: 3' }] }],
        })
        expectConforms('ResponseItemList', items)
        expect(await json(call('DELETE', `/v1/responses/${first.id}`))).toEqual({
          id: first.id,
          object: 'response',
          deleted: true,
        })
        await json(call('GET', `/v1/responses/${first.id}`), 404)
        // A conversation with a hole is refused, never answered from half of it.
        expect((await create({ model, input: 'x', previous_response_id: third.id }, 400)).error.code).toBe(
          'previous_response_not_found',
        )
      })

    test('the upstream that chats sees the whole conversation', async () => {
      const tools = [
        {
          type: 'function',
          name: 'get_weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ]
      for (const model of ['chat-model', 'claude-model']) {
        const asked = await create({ model, input: 'Weather? use the tool', tools, tool_choice: 'required' })
        const made = asked.output.find((item: Json) => item.type === 'function_call')
        expect(JSON.parse(made.arguments)).toHaveProperty('city')
        const output = [{ type: 'function_call_output', call_id: made.call_id, output: 'sunny' }]
        expect(textOf(await create({ model, input: output, previous_response_id: asked.id, tools }))).toContain('sunny')
        // The same by reference, as @ai-sdk/openai does it.
        const input = [
          { role: 'user', content: 'Weather? use the tool' },
          { type: 'item_reference', id: made.id },
          ...output,
        ]
        expect(textOf(await create({ model, input, tools }))).toContain('sunny')
      }
    })

    test('thinking goes back to its vendor with its proof', async () => {
      const asked = await create({
        model: 'claude-model',
        input: 'say: deep',
        reasoning: { effort: 'low' },
        max_output_tokens: 4000,
      })
      const [thought] = asked.output
      expect(thought.type).toBe('reasoning')
      expect(thought.encrypted_content).toMatch(/^modelgate-signature-./)
      expect(asked.usage.output_tokens).toBeGreaterThan(0)
      const input = [{ role: 'user', content: 'say: deep' }, ...asked.output, { role: 'user', content: 'say: more' }]
      expect(textOf(await create({ model: 'claude-model', input, store: false, reasoning: { effort: 'low' } }))).toBe(
        'more',
      )
      // Another vendor gets the conversation without it, and the client is told.
      const native = await call('POST', '/v1/responses', { model: 'native-model', input })
      expect([native.status, native.headers.get('x-proxy-dropped-params')]).toEqual([200, 'input.encrypted_content'])
      expect(JSON.stringify(upstream.asked.at(-1))).not.toContain('modelgate-')
    })

    test('its own upstream gets its own items back by their ids; another gets what anyone understands', async () => {
      const first = await create({ model: 'native-model', input: 'one' })
      await create({ model: 'native-model', input: 'two', previous_response_id: first.id })
      expect(upstream.asked.at(-1)).not.toHaveProperty('previous_response_id')
      expect(upstream.asked.at(-1)!.input.slice(1)).toEqual([
        ...first.output,
        { type: 'message', role: 'user', content: 'two' },
      ])
      const foreign = await create({ model: 'chat-model', input: 'say: hi' })
      await create({ model: 'native-model', input: 'two', previous_response_id: foreign.id })
      expect(upstream.asked.at(-1)!.input[1]).toEqual({
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'hi', annotations: [] }],
      })
    })

    test('every key has its own: another sees, continues, deletes and refers to nothing', async () => {
      const mine = await create({ model: 'native-model', input: 'mine' })
      const other = await gateway.key()
      for (const as of [other, masterKey]) {
        await json(call('GET', `/v1/responses/${mine.id}`, undefined, as), 404)
        await json(call('DELETE', `/v1/responses/${mine.id}`, undefined, as), 404)
        await json(call('POST', `/v1/responses/${mine.id}/cancel`, {}, as), 404)
        await json(call('GET', `/v1/responses/${mine.id}/input_items`, undefined, as), 404)
        await json(
          call('POST', '/v1/responses', { model: 'native-model', input: 'x', previous_response_id: mine.id }, as),
          400,
        )
        const before = upstream.asked.length
        const reference = { model: 'native-model', input: [{ type: 'item_reference', id: mine.output[1].id }] }
        expect((await json(call('POST', '/v1/responses', reference, as), 400)).error.code).toBe('item_not_found')
        expect(upstream.asked.length).toBe(before)
      }
      expect((await json(call('GET', `/v1/responses/${mine.id}`))).id).toBe(mine.id)
    })

    test('store: false keeps nothing', async () => {
      for (const model of ['chat-model', 'native-model']) {
        const whole = await create({ model, input: 'say: x', store: false })
        await json(call('GET', `/v1/responses/${whole.id}`), 404)
        const streamed = (await events({ model, input: 'say: x', store: false })).at(-1)!.response
        await json(call('GET', `/v1/responses/${streamed.id}`), 404)
      }
    })

    test('a run in the background is queued, runs, and ends', async () => {
      const queued = await create({ model: 'native-model', input: 'slow', background: true })
      expect(queued).toMatchObject({ status: 'queued', background: true, output: [] })
      expectConforms('Response', queued)
      expect(
        (await create({ model: 'native-model', input: 'x', previous_response_id: queued.id }, 400)).error.code,
      ).toBe('previous_response_in_progress')
      let now = queued
      const seen = new Set<string>()
      while (!['completed', 'failed'].includes(now.status)) {
        await Bun.sleep(50)
        now = await json(call('GET', `/v1/responses/${queued.id}`))
        seen.add(now.status)
      }
      expect([...seen]).toEqual(['in_progress', 'completed'])
      expect(now).toMatchObject({
        id: queued.id,
        created_at: queued.created_at,
        model: 'native-model',
        background: true,
      })
      expect(textOf(now)).toBe('slow')
      const reported = eventsIn(await (await call('GET', `/v1/responses/${queued.id}?stream=true`)).text())
      expect(reported.at(-1)).toMatchObject({ type: 'response.completed', response: now })
      const rest = await (await call('GET', `/v1/responses/${queued.id}?stream=true&starting_after=2`)).text()
      expect(eventsIn(rest)).toEqual(reported.slice(3))
      // What has ended stays as it is.
      expect((await json(call('POST', `/v1/responses/${queued.id}/cancel`, {}))).status).toBe('completed')
    })

    test('a run that is cancelled lets go of its upstream; one that fails says why', async () => {
      const calls = upstream.asked.length
      const queued = await create({ model: 'native-model', input: 'slow', background: true })
      await until(() => upstream.asked.length > calls, 'the upstream is asked')
      expect((await json(call('POST', `/v1/responses/${queued.id}/cancel`, {}))).status).toBe('cancelled')
      const [row] = await until(async () => {
        const rows = await gateway.rows('&outcome=client_closed')
        return rows.length > 0 && rows
      }, 'it is in the ledger')
      expect(row).toMatchObject({ route: '/v1/responses', model: 'native-model' })
      await Bun.sleep(1600)
      expect((await json(call('GET', `/v1/responses/${queued.id}`))).status).toBe('cancelled')
      const failed = await create({ model: 'nobody', input: 'x', background: true })
      let now = failed
      while (now.status !== 'failed') {
        await Bun.sleep(50)
        now = await json(call('GET', `/v1/responses/${failed.id}`))
      }
      expect(now.status).toBe('failed')
      expect(now.error.message.length).toBeGreaterThan(10)
      expectConforms('Response', { ...now, error: { ...now.error, code: 'server_error' } })
    })

    test('a stored answer is told as a stream, from the beginning or from where it was cut', async () => {
      for (const model of ['chat-model', 'claude-model', 'native-model']) {
        const done = await create({ model, input: 'say: hello there' })
        const answer = await call('GET', `/v1/responses/${done.id}?stream=true&include_obfuscation=false`)
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
        const reported = eventsIn(await answer.text())
        expect(reported.map(event => event.sequence_number)).toEqual(reported.map((_, at) => at))
        expect(reported.at(-1)).toMatchObject({ type: 'response.completed', response: done })
        expect(
          reported
            .filter(event => event.type === 'response.output_text.delta')
            .map(event => event.delta)
            .join(''),
        ).toBe(textOf(done))
        // A client that saw the first stream counted other events: it must not miss what it never had.
        expect(
          (await json(call('GET', `/v1/responses/${done.id}?stream=true&starting_after=2`), 400)).error.param,
        ).toBe('starting_after')
        expect(await json(call('GET', `/v1/responses/${done.id}?stream=false`))).toEqual(done)
      }
    })

    test('what cannot be is refused with a reason', async () => {
      const cases: [object, number, string][] = [
        [{ input: 'x', background: true, stream: true }, 400, 'stream'],
        [{ input: 'x', background: true, store: false }, 400, 'store'],
        [{ input: 'x', conversation: 'conv_1' }, 422, 'conversation'],
        [{ input: 'x', previous_response_id: 'resp_none' }, 400, 'previous_response_id'],
        [{ input: 'x', tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, 422, 'tool_choice'],
        [{ messages: [] }, 422, 'input'],
      ]
      for (const [fields, status, param] of cases) {
        const { error } = await create({ model: 'chat-model', ...fields }, status)
        expect([param, error.param]).toEqual([param, param])
      }
      const done = await create({ model: 'chat-model', input: 'say: x' })
      await json(call('POST', `/v1/responses/${done.id}/cancel`, {}), 400)
      await json(call('GET', `/v1/responses/${done.id}?stream=yes`), 422)
      await json(call('GET', `/v1/responses/${done.id}?stream=true&starting_after=x`), 422)
      await json(call('GET', `/v1/responses/resp_none?stream=true`), 404)
      const running = await create({ model: 'native-model', input: 'slow', background: true })
      const { error } = await json(call('GET', `/v1/responses/${running.id}?stream=true`), 400)
      expect([error.param, error.message]).toEqual(['stream', expect.stringContaining('poll GET /v1/responses/{id}')])
      await json(call('POST', `/v1/responses/${running.id}/cancel`, {}))
      expect((await json(call('GET', `/v1/responses/${running.id}?stream=true`), 400)).error.message).toContain(
        'cancelled',
      )
      await json(call('GET', `/v1/responses/${done.id}/input_items?after=none`), 422)
      const broken = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: '{"model":',
      })
      expect(broken.status).toBe(400)
    })

    test('a hosted tool is dropped and reported where no upstream can run it, and forwarded where one can', async () => {
      const tools = [{ type: 'web_search' }]
      const chat = await call('POST', '/v1/responses', { model: 'chat-model', input: 'say: x', tools })
      expect([chat.status, chat.headers.get('x-proxy-dropped-params')]).toEqual([200, 'tools.web_search'])
      const native = await call('POST', '/v1/responses', { model: 'native-model', input: 'x', tools })
      expect(native.headers.get('x-proxy-dropped-params')).toBeNull()
      expect(upstream.asked.at(-1)!.tools).toEqual(tools)
      // What no other vendor could be told reaches the one that can.
      const prompt = { id: 'pmpt_1', variables: { a: 'b' } }
      const stored = (body: object, status: number) => json(call('POST', '/v1/responses', body, masterKey), status)
      await stored({ model: 'native-model', input: 'x', prompt }, 200)
      expect(upstream.asked.at(-1)!.prompt).toEqual(prompt)
      // The prompt itself may hold all of the input.
      await stored({ model: 'native-model', prompt }, 200)
      expect(upstream.asked.at(-1)).toMatchObject({ prompt })
      expect((await stored({ model: 'chat-model', input: 'x', prompt }, 422)).error.param).toBe('prompt')
    })

    test('a stream is numbered, billed, and honest about its end', async () => {
      for (const model of ['chat-model', 'claude-model']) {
        const reported = await events({ model, input: 'tokens: 20' })
        expect(reported.map(event => event.sequence_number)).toEqual(reported.map((_, at) => at))
        for (const event of reported) expectConforms('ResponseStreamEvent', event)
        const final = reported.at(-1)!
        expect(final.type).toBe('response.completed')
        expect(final.response.usage.output_tokens).toBeGreaterThan(0)
      }
      const cut = (await events({ model: 'fault/sim#cut', input: 'tokens: 30' })).at(-1)!
      expect(cut).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'server_error' } },
      })
      expect(cut.response.output[0].content[0].text.length).toBeGreaterThan(0)
      expect((await json(call('GET', `/v1/responses/${cut.response.id}`))).status).toBe('failed')
      const [row] = await gateway.rows('&outcome=upstream_cut')
      expect(row?.route).toBe('/v1/responses')
      upstream.fail(true)
      const failed = await call('POST', '/v1/responses', { model: 'native-model', input: 'x', stream: true })
      upstream.fail(false)
      // Nothing had been said yet, so that the failure is an error and no stream.
      expect([failed.status, ((await failed.json()) as Json).error.message]).toEqual([500, 'boom'])
      await events({ model: 'native-model', input: 'bill me' })
      const [billed] = await gateway.rows('&model=native-model')
      expect(billed).toMatchObject({
        outcome: 'success',
        usage_source: 'upstream',
        input_tokens: 10,
        output_tokens: 5,
        cached_input_tokens: 4,
        reasoning_tokens: 2,
      })
    })

    test('Cursor sends a Responses body to its chat path and reads chat chunks', async () => {
      const post = (body: object) => call('POST', '/cursor/chat/completions', body)
      const whole = await json(post({ model: 'chat-model', input: [{ role: 'user', content: 'say: hi' }] }))
      expect([whole.object, whole.choices[0].message.content]).toEqual(['chat.completion', 'hi'])
      const tools = [
        {
          type: 'function',
          name: 'get_weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ]
      const streamed = await (
        await post({ model: 'claude-model', input: 'Weather? use the tool', tools, stream: true })
      ).text()
      expect(streamed).toContain('"object":"chat.completion.chunk"')
      expect(streamed).toContain('"name":"get_weather"')
      expect(streamed).toEndWith('data: [DONE]\n\n')
      const chat = await json(post({ model: 'chat-model', messages: [{ role: 'user', content: 'say: chat' }] }))
      expect(chat.choices[0].message.content).toBe('chat')
    })

    test('a client that leaves ends the call', async () => {
      const control = new AbortController()
      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        signal: control.signal,
        body: JSON.stringify({ model: 'fault/sim#token-ms=20', input: 'tokens: 500', stream: true }),
      })
      await response.body!.getReader().read()
      control.abort()
      const isLast = async () => (await gateway.rows())[0]?.outcome === 'client_closed'
      await until(isLast, 'it is in the ledger')
      expect((await gateway.rows())[0]?.model).toBe('fault/sim#token-ms=20')
    })
  })
