/** OpenAI's Responses over a WebSocket, on models of every vendor. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

/** A socket whose events are waited for. */
class Talk {
  readonly events: Json[] = []
  readonly socket: WebSocket
  readonly closed: Promise<{ code: number; reason: string }>
  #wake: (() => void)[] = []

  constructor(url: string, key: string, headers: Record<string, string> = {}) {
    const Socket = WebSocket as unknown as new (url: string, options: object) => WebSocket
    this.socket = new Socket(`${url.replace(/^http/, 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    this.socket.onmessage = ({ data }) => {
      this.events.push(JSON.parse(String(data)) as Json)
      for (const go of this.#wake.splice(0)) go()
    }
    this.closed = new Promise(resolve => {
      this.socket.onclose = ({ code, reason }) => {
        resolve({ code, reason })
        for (const go of this.#wake.splice(0)) go()
      }
    })
  }

  async open(): Promise<this> {
    if (this.socket.readyState !== WebSocket.OPEN)
      await new Promise((resolve, reject) => {
        this.socket.onopen = resolve
        this.socket.onerror = () => reject(new Error('the socket did not open'))
      })
    return this
  }

  send(message: Json | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  async until(found: (event: Json) => boolean): Promise<Json> {
    for (;;) {
      const event = this.events.find(found)
      if (event) return event
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error(`closed: ${JSON.stringify(this.events)}`)
      await new Promise<void>(go => this.#wake.push(go))
    }
  }

  /** Sends a `response.create`; resolves with its last event. */
  async create(fields: Json): Promise<Json> {
    const from = this.events.length
    this.send({ type: 'response.create', ...fields })
    const ended = (event: Json) =>
      this.events.indexOf(event) >= from && /^(error|response\.(completed|incomplete|failed))$/.test(String(event.type))
    return this.until(ended)
  }
}

const text = (event: Json): string => {
  const { output } = event.response as { output: { content?: { text: string }[] }[] }
  return output
    .flatMap(item => item.content ?? [])
    .map(part => part.text)
    .join('')
}

for (const backend of backends())
  describe(`over ${backend.name}`, () => {
    let gateway: Gateway
    let key: string
    const talks: Talk[] = []
    const talk = async (of = key, headers?: Record<string, string>) => {
      const made = await new Talk(gateway.url, of, headers).open()
      talks.push(made)
      return made
    }
    beforeAll(async () => {
      const price = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'
      gateway = await startGateway({
        backend,
        config: `
model_list:
  - { model_name: claude, proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: k, ${price} } }
  - { model_name: gpt, proxy_params: { model: openai/sim-responses, api_base: "{simulator}/v1", api_key: k, ${price} } }
  - { model_name: slow, proxy_params: { model: "anthropic/sim#token-ms;ms=60", api_base: "{simulator}", api_key: k, ${price} } }
  - { model_name: failing, proxy_params: { model: "anthropic/sim#status;code=500", api_base: "{simulator}", api_key: k } }
router_settings: { num_retries: 0 }
`,
      })
      key = await gateway.key({ max_budget: 10 })
    })
    afterAll(async () => {
      for (const one of talks) one.socket.close()
      await gateway?.stop()
    })

    test.each(['claude', 'gpt'])('%s answers in the events of the stream, each a call with its row', async model => {
      const one = await talk()
      const before = (await gateway.rows()).length
      const first = await one.create({ model, input: 'Hello' })
      expect(first).toMatchObject({ type: 'response.completed', response: { object: 'response', status: 'completed' } })
      expect(one.events[0]).toMatchObject({ type: 'response.created', sequence_number: 0 })
      expect(one.events.some(event => event.type === 'response.output_text.delta')).toBe(true)
      await one.create({ model, input: 'Hello again' })
      const rows = await gateway.rows()
      expect(rows.length).toBe(before + 2)
      expect(rows[0]).toMatchObject({ route: '/v1/responses', model, status: 200, stream: true })
      expect(Number(rows[0]!.cost_nano_usd)).toBeGreaterThan(0)
    })

    test.each(['claude', 'gpt'])('%s: what is not stored is continued on its socket, and on no other', async model => {
      const one = await talk()
      const first = await one.create({ model, input: 'The word is turnip', store: false })
      const { id } = first.response as { id: string }
      const second = await one.create({ model, input: 'Say it', previous_response_id: id, store: false })
      expect(second).toMatchObject({ type: 'response.completed', response: { previous_response_id: id, store: false } })
      const sent = JSON.stringify(gateway.simulator.truth.last())
      expect(sent).toContain('The word is turnip')
      expect(sent).toContain('Say it')
      expect(sent).toContain(text(first).slice(0, 20))
      const third = await one.create({
        model,
        input: 'And now',
        previous_response_id: (second.response as { id: string }).id,
      })
      expect(JSON.stringify(gateway.simulator.truth.last())).toContain('The word is turnip')
      expect(third).toMatchObject({ type: 'response.completed' })
      const other = await talk()
      expect(await other.create({ model, input: 'Say it', previous_response_id: id })).toMatchObject({
        type: 'error',
        status: 400,
        error: { code: 'previous_response_not_found', param: 'previous_response_id' },
      })
      // What was stored in the end has all of it.
      const stored = (third.response as { id: string }).id
      expect((await other.create({ model, input: 'More', previous_response_id: stored })).type).toBe(
        'response.completed',
      )
      expect(JSON.stringify(gateway.simulator.truth.last())).toContain('The word is turnip')
    })

    test('a warm-up asks no model, and is continued', async () => {
      const one = await talk()
      const before = gateway.simulator.truth.last()
      const rows = (await gateway.rows()).length
      const warm = await one.create({ model: 'claude', input: 'Remember plum', generate: false, store: false })
      expect(warm).toMatchObject({ type: 'response.completed', response: { output: [], status: 'completed' } })
      expect(gateway.simulator.truth.last()).toBe(before)
      expect((await gateway.rows()).length).toBe(rows)
      const { id } = warm.response as { id: string }
      await one.create({ model: 'claude', input: 'Go', previous_response_id: id })
      expect(JSON.stringify(gateway.simulator.truth.last())).toContain('Remember plum')
      expect(await one.create({ model: 'not-there', input: 'x', generate: false })).toMatchObject({
        type: 'error',
        status: 404,
      })
    })

    test('lanes run side by side, requests of one lane in turn, each event with its lane', async () => {
      const one = await talk()
      for (const lane of ['a', 'b', 'a'])
        one.send({ type: 'response.create', model: lane === 'a' ? 'slow' : 'claude', input: 'x', stream_id: lane })
      const ended = (event: Json) => event.type === 'response.completed'
      await one.until(() => one.events.filter(ended).length === 3)
      expect(one.events.filter(ended).map(event => event.stream_id)).toEqual(['b', 'a', 'a'])
      expect(one.events.every(event => event.stream_id === 'a' || event.stream_id === 'b')).toBe(true)
      const ofA = one.events.filter(event => event.stream_id === 'a').map(event => event.type)
      expect(ofA.filter(type => type === 'response.created').length).toBe(2)
      expect(ofA.lastIndexOf('response.created')).toBeGreaterThan(ofA.indexOf('response.completed'))
    })

    test('a steer is taken up by a response that follows by itself', async () => {
      const one = await talk()
      one.send({ type: 'response.create', model: 'slow', input: 'Begin', store: false })
      const { response } = (await one.until(event => event.type === 'response.created')) as { response: { id: string } }
      one.send({ type: 'response.steer', previous_response_id: response.id, input: 'Rather about pears' })
      await one.until(event => event.type === 'response.steer.accepted')
      await one.until(() => one.events.filter(event => event.type === 'response.completed').length === 2)
      const last = one.events.findLast(event => event.type === 'response.completed')!
      expect(last.response).toMatchObject({ previous_response_id: response.id })
      expect(JSON.stringify(gateway.simulator.truth.last())).toContain('Rather about pears')
      one.send({ type: 'response.steer', previous_response_id: response.id, input: 'Late' })
      expect(await one.until(event => event.type === 'response.steer.failed')).toMatchObject({
        error: { code: 'response_already_completed' },
        steer: { input: 'Late' },
      })
    })

    test('bad messages are errors that say what to do, and the socket goes on', async () => {
      const one = await talk()
      const cases: [string, string][] = [
        ['no json', 'JSON'],
        ['[]', 'object'],
        ['{}', 'type'],
        ['{"type":"session.update"}', 'session.update'],
        ['{"type":"response.create","stream_id":7}', 'stream_id'],
        ['{"type":"response.create","background":true}', 'background'],
        ['{"type":"response.create","generate":"no"}', 'generate'],
        ['{"type":"response.create","model":"claude","input":7}', 'input'],
        ['{"type":"response.create","model":"not-there","input":"x"}', 'not-there'],
        ['{"type":"response.steer","input":"x"}', 'previous_response_id'],
      ]
      for (const [message, words] of cases) {
        const from = one.events.length
        one.send(message)
        const event = await one.until(each => one.events.indexOf(each) >= from)
        expect([message, event.type, JSON.stringify(event).includes(words)]).toEqual([message, 'error', true])
      }
      expect((await one.create({ model: 'failing', input: 'x' })).type).toMatch(/error|response.failed/)
      expect((await one.create({ model: 'claude', input: 'x' })).type).toBe('response.completed')
    })

    test('limits, budgets and a blocked key hold for each message', async () => {
      const limited = await gateway.key({ rpm_limit: 2 })
      const one = await talk(limited)
      for (let at = 0; at < 2; at++)
        expect((await one.create({ model: 'claude', input: 'x' })).type).toBe('response.completed')
      expect(await one.create({ model: 'claude', input: 'x' })).toMatchObject({ type: 'error', status: 429 })
      const poor = await talk(await gateway.key({ max_budget: 0.0000001 }))
      expect(await poor.create({ model: 'claude', input: 'x' })).toMatchObject({
        type: 'error',
        status: 429,
        error: { type: 'budget_exceeded' },
      })
      const doomed = await gateway.key()
      const held = await talk(doomed)
      expect((await held.create({ model: 'claude', input: 'x' })).type).toBe('response.completed')
      await gateway.admin('/key/block', { key: doomed })
      expect(await held.create({ model: 'claude', input: 'x' })).toMatchObject({ type: 'error', status: 401 })
    })

    test('a client that leaves ends its call upstream', async () => {
      const one = await talk()
      one.send({ type: 'response.create', model: 'slow', input: 'x' })
      await one.until(event => event.type === 'response.created')
      one.socket.close()
      let row: Json | undefined
      while (row?.outcome !== 'client_closed') row = (await gateway.rows('&model=slow'))[0] as unknown as Json
      expect(row).toMatchObject({ outcome: 'client_closed', status: 499 })
    })

    test("OpenAI's own client talks over it", async () => {
      const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key })
      const socket = new ResponsesWS(client)
      const events: string[] = []
      let words = ''
      for await (const event of socket.stream()) {
        if (event.type === 'open')
          socket.send({ type: 'response.create', model: 'claude', input: 'Hello', store: false })
        if (event.type !== 'message') continue
        const { message } = event
        events.push(message.type)
        if (message.type === 'response.output_text.delta') words += message.delta
        if (message.type === 'response.completed') break
      }
      socket.close()
      expect(words).not.toBe('')
      expect(events[0]).toBe('response.created')
    })
  })

describe('the handshake', () => {
  let gateway: Gateway
  beforeAll(async () => {
    gateway = await startGateway()
  })
  afterAll(() => gateway?.stop())

  test('without a key, with a broken one, and where there is no socket, is an answer of HTTP', async () => {
    const ask = (path: string, headers: Record<string, string>) =>
      fetch(`${gateway.url}${path}`, {
        headers: { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', ...headers },
      })
    expect((await ask('/v1/responses', {})).status).toBe(401)
    const authorization = `Bearer ${await gateway.key()}`
    expect((await ask('/v1/responses', { authorization })).status).toBe(400)
    expect((await ask('/v1/responses', { authorization, 'sec-websocket-version': '8' })).status).toBe(400)
    expect((await ask('/v1/chat/completions', { authorization })).status).toBe(426)
  })

  test('a stop of the gateway says "going away" to idle sockets, and lets a response end', async () => {
    const own = await startGateway({
      config: `model_list:\n  - { model_name: slow, proxy_params: { model: "anthropic/sim#token-ms;ms=40", api_base: "{simulator}", api_key: k } }\n`,
    })
    const key = await own.key()
    const idle = await new Talk(own.url, key).open()
    const busy = await new Talk(own.url, key).open()
    busy.send({ type: 'response.create', model: 'slow', input: 'x' })
    await busy.until(event => event.type === 'response.created')
    const stopped = own.stop()
    expect(await idle.closed).toMatchObject({ code: 1001 })
    await busy.until(event => event.type === 'response.completed')
    expect(await busy.closed).toMatchObject({ code: 1001 })
    await stopped
  })
})
