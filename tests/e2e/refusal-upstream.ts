/** An upstream that answers every case of `refusals.test.ts` with its host's words, in the place of the case. */
import type { RefusalExample } from '../../rules/refusal-rows.ts'

/** Where the error stands: on the status line, as a whole answer of a 200, as a stream's first or a later event. */
export type Place = 'status' | 'whole' | 'first' | 'later'

interface RefusalCase {
  readonly id: string
  readonly host: string
  readonly place: Place
  readonly example: RefusalExample
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const named = (data: { readonly type: string }): string => `event: ${data.type}\n${event(data)}`

interface StreamDialect {
  readonly contentType: string
  /** Ends with the words `so far`. */
  readonly begun: string
  error(body: object | string): string
}

const openai: StreamDialect = {
  contentType: 'text/event-stream',
  begun: ['', 'so far']
    .map(content =>
      event({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'up',
        choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }],
      }),
    )
    .join(''),
  error: event,
}

const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'up', status: 'in_progress', output: [] }
const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
const responses: StreamDialect = {
  contentType: 'text/event-stream',
  begun: [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item },
    {
      type: 'response.content_part.added',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'so far' },
  ]
    .map(named)
    .join(''),
  error(body) {
    const { error } = body as { error?: unknown }
    return typeof error === 'object'
      ? named({ type: 'response.failed', ...{ response: { ...response, status: 'failed', error } } })
      : event(body)
  },
}

const message = { id: 'm', type: 'message', role: 'assistant', model: 'up', content: [], stop_reason: null }
const anthropic: StreamDialect = {
  contentType: 'text/event-stream',
  begun: [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 0 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'so far' } },
  ]
    .map(named)
    .join(''),
  error: body => `event: error\n${event(body)}`,
}

const gemini: StreamDialect = {
  contentType: 'text/event-stream',
  begun: event({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'so far' }] } }] }),
  error: event,
}

const ollama: StreamDialect = {
  contentType: 'application/x-ndjson',
  begun: `${JSON.stringify({ model: 'up', message: { role: 'assistant', content: 'so far' }, done: false })}\n`,
  error: body => `${JSON.stringify(body)}\n`,
}

const cohere: StreamDialect = {
  contentType: 'text/event-stream',
  begun: [
    { type: 'message-start', id: 'c', delta: { message: { role: 'assistant' } } },
    { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { text: 'so far' } } } },
  ]
    .map(named)
    .join(''),
  error: event,
}

const byHost: Readonly<Record<string, StreamDialect>> = { anthropic, gemini, ollama, cohere }

/** Paths begin with `/GATEWAY/CASE/`. */
export function startRefusingUpstream(cases: readonly RefusalCase[]) {
  const known = new Map(cases.map(one => [one.id, one]))
  const counts = new Map<string, number>()
  const releases = new Map<string, () => void>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname } = new URL(request.url)
      const [, gateway, id] = pathname.split('/')
      const key = `${gateway}/${id}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
      const { host, place, example } = known.get(id!)!
      if (place === 'status') return Response.json(example.body, { status: example.status })
      if (place === 'whole') return Response.json(example.body)
      const dialect = byHost[host] ?? (pathname.endsWith('/responses') ? responses : openai)
      const headers = { 'content-type': dialect.contentType }
      if (place === 'first') return new Response(dialect.error(example.body), { headers })
      const released = new Promise<void>(resolve => releases.set(key, resolve))
      const body = new ReadableStream({
        async start(stream) {
          stream.enqueue(dialect.begun)
          await released
          stream.enqueue(dialect.error(example.body))
          stream.close()
        },
      })
      return new Response(body, { headers })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    /** How often `GATEWAY/CASE` was requested. */
    asked: (key: string): number => counts.get(key) ?? 0,
    /** The stream of `GATEWAY/CASE` goes on after its first words. */
    release: (key: string): void => releases.get(key)?.(),
    stop: () => server.stop(true),
  }
}
