/**
 * Anthropic's message threads: forwarded to Anthropic, which keeps them, and refused for other upstreams in the words
 * by which the client goes on with the whole conversation.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic, { BadRequestError, NotFoundError } from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import type { Server } from 'bun'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { maskWord } from '../policies/mask-word.ts'
import { askForTool, toolResult, weatherTool } from './matrix/client.ts'
import { matrixConfig, providerRows } from './matrix/providers.ts'

type Json = Record<string, unknown>
type Message = { role: string; content: unknown }

/** Anthropic with threads: answers with how many messages it knows. */
class ThreadUpstream {
  readonly bodies: Json[] = []
  readonly betas: (string | null)[] = []
  readonly #threads = new Map<string, Message[]>()
  readonly #server: Server<undefined>

  constructor() {
    this.#server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: request => this.#answer(request) })
  }

  get url(): string {
    return this.#server.url.href.replace(/\/$/, '')
  }

  forget(): void {
    this.#threads.clear()
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    const body = (await request.json()) as Json
    this.bodies.push(body)
    this.betas.push(request.headers.get('anthropic-beta'))
    const thread = (body.thread ?? {}) as { type?: string; previous_message_id?: string }
    const known = thread.type === 'continue' ? this.#threads.get(thread.previous_message_id!) : []
    if (!known) {
      const details = { error_code: 'thread_not_found' }
      const error = { type: 'not_found_error', message: 'No usable Thread state was found.', details }
      return Response.json({ type: 'error', error }, { status: 404 })
    }
    const messages = [...known, ...(body.messages as Message[])]
    const id = `msg_${crypto.randomUUID().replaceAll('-', '')}`
    const content = [{ type: 'text', text: `I know ${messages.length} messages` }]
    if (thread.type) this.#threads.set(id, [...messages, { role: 'assistant', content }])
    return Response.json({
      id,
      type: 'message',
      role: 'assistant',
      model: 'claude-up',
      content,
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 2 },
    })
  }
}

let upstream: ThreadUpstream
let gateway: Gateway
let masked: Gateway
let client: Anthropic
beforeAll(async () => {
  upstream = new ThreadUpstream()
  const config = JSON.parse(matrixConfig()) as { model_list: object[] }
  config.model_list.push({
    model_name: 'threads',
    proxy_params: { model: 'anthropic/claude-opus-5', api_base: upstream.url, api_key: 'upstream-key-canary-1' },
  })
  gateway = await startGateway({ config: JSON.stringify(config) })
  masked = await startGateway({ config: JSON.stringify(config), policies: [maskWord('nothing')] })
  client = new Anthropic({ baseURL: gateway.url, apiKey: await gateway.key(), maxRetries: 0 })
})
afterAll(async () => {
  await gateway?.stop()
  await masked?.stop()
  await upstream?.stop()
})

const textOf = (message: Anthropic.Beta.BetaMessage): string =>
  message.content.map(block => (block.type === 'text' ? block.text : '')).join('')

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const turn = (content: string) => ({ role: 'user' as const, content })

describe('at Anthropic', () => {
  test('each turn sends only what is new; the beta of the client goes along', async () => {
    const thread = client.beta.messages.thread({ model: 'threads', max_tokens: 100 })
    expect(textOf(await thread.send(turn('one')))).toBe('I know 1 messages')
    expect(textOf(await thread.send(turn('two')))).toBe('I know 3 messages')
    const { messages, thread: sent } = upstream.bodies.at(-1)!
    expect([messages, (sent as Json).type]).toEqual([[turn('two')], 'continue'])
    expect(upstream.betas.at(-1)).toContain('message-threads-2026-08-12')
  })

  test('a thread that is gone is said in the words of Anthropic: the client starts another one', async () => {
    const thread = client.beta.messages.thread({ model: 'threads', max_tokens: 100 })
    await thread.send(turn('one'))
    upstream.forget()
    expect(textOf(await thread.send(turn('two')))).toBe('I know 3 messages')
    expect(upstream.bodies.at(-1)!.thread).toEqual({ type: 'create' })
    const error = await failure(
      client.beta.messages.create({
        model: 'threads',
        max_tokens: 100,
        messages: [turn('x')],
        thread: { type: 'continue', previous_message_id: 'msg_gone' },
      }),
    )
    expect(error).toBeInstanceOf(NotFoundError)
    expect((error as { errorCode?: string }).errorCode).toBe('thread_not_found')
    // The model is there all the same.
    expect(textOf(await client.beta.messages.thread({ model: 'threads', max_tokens: 100 }).send(turn('one')))).toBe(
      'I know 1 messages',
    )
  })

  test('a turn without a message, as after a pause', async () => {
    const created = await client.beta.messages.create({
      model: 'threads',
      max_tokens: 100,
      messages: [turn('one')],
      thread: { type: 'create' },
    })
    const next = { model: 'threads', max_tokens: 100, messages: [] }
    const thread = { type: 'continue' as const, previous_message_id: created.id }
    expect(textOf(await client.beta.messages.create({ ...next, thread }))).toBe('I know 2 messages')
    expect(await failure(client.beta.messages.create(next))).toMatchObject({ status: 422 })
  })

  test('also where a policy reads the answers, and the call is written anew', async () => {
    const through = new Anthropic({ baseURL: masked.url, apiKey: await masked.key(), maxRetries: 0 })
    const thread = through.beta.messages.thread({ model: 'threads', max_tokens: 100 })
    expect(textOf(await thread.send(turn('one')))).toBe('I know 1 messages')
    expect(textOf(await thread.send(turn('two')))).toBe('I know 3 messages')
    expect((upstream.bodies.at(-1)!.thread as Json).type).toBe('continue')
  })
})

describe('elsewhere', () => {
  const rows = providerRows.map(row => row.name)
  const others = rows.filter(name => name !== 'anthropic')

  test.each(others)('%s: refused before anything is sent, in words that the client knows', async model => {
    const before = gateway.simulator.truth.last()?.n
    const error = await failure(client.beta.messages.thread({ model, max_tokens: 100 }).send(turn('say: hi')))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error as object).toMatchObject({ errorCode: 'thread_unsupported_request' })
    expect(gateway.simulator.truth.last()?.n).toBe(before)
  })

  test('a client that may goes on with the whole conversation', async () => {
    const unsupportedRequestBehavior = 'continue_unthreaded' as const
    const thread = client.beta.messages.thread({ model: 'custom_openai', max_tokens: 100, unsupportedRequestBehavior })
    await thread.send(turn('say: one'))
    await thread.send(turn('say: two'))
    const { messages } = gateway.simulator.truth.last()!.body as { messages: { content: string }[] }
    expect(messages.map(message => message.content)).toEqual(['say: one', 'one', 'say: two'])
  })
})

describe.each(providerRows.map(row => row.name))('the tool runner on %s', model => {
  for (const stream of [false, true])
    test(`${stream ? 'streamed' : 'whole'}: calls the tool and ends with the answer to its result`, async () => {
      const cities: unknown[] = []
      const tool = betaTool({
        ...weatherTool,
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        run: ({ city }) => {
          cities.push(city)
          return toolResult
        },
      })
      const runner = client.beta.messages.toolRunner({
        model,
        max_tokens: 2000,
        messages: [turn(askForTool)],
        tools: [tool],
        stream,
      })
      expect(textOf(await runner.runUntilDone())).toBe(`The tool said: ${toolResult}`)
      expect(cities).toEqual([expect.any(String) as unknown])
    })
})
