/** An upstream of OpenAI's dialects that counts what it is asked, and that answers when the test lets it. */
type Json = Record<string, any>

/** One request that has arrived. */
export interface Asked {
  readonly path: string
  /** The JSON body; of a form its fields. */
  readonly body: Json
}

/** Answers `answer <number>` to chats, each with another number. What a chat's last text says may change its answer. */
export class CountingUpstream {
  readonly asked: Asked[] = []
  readonly #server: ReturnType<typeof Bun.serve>
  #gate: Promise<void> | undefined
  #open: () => void = () => {}
  /** Requests whose connection the gateway has closed before their end. */
  aborted = 0
  /** Embeddings are one fewer than the inputs. */
  fewer = false

  constructor() {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: request => this.#answer(request),
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  get count(): number {
    return this.asked.length
  }

  clear(): void {
    this.asked.length = 0
    this.aborted = 0
    this.release()
  }

  /** Answers wait from now on: streams after their first piece. */
  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gate = promise
    this.#open = resolve
  }

  release(): void {
    this.#gate = undefined
    this.#open()
  }

  async stop(): Promise<void> {
    this.release()
    await this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.replace('/v1', '')
    const isForm = request.headers.get('content-type')?.startsWith('multipart/')
    const body: Json = isForm ? Object.fromEntries(await request.formData()) : ((await request.json()) as Json)
    this.asked.push({ path, body })
    request.signal.addEventListener('abort', () => this.aborted++)
    const number = this.asked.length
    if (path === '/chat/completions') return body.stream ? this.#stream(body, number) : this.#chat(body, number)
    await this.#gate
    if (body.prompt === 'fail') return Response.json({ error: { message: 'told to fail', type: 'x' } }, { status: 500 })
    if (path === '/audio/speech') return new Response(`audio ${number}`, { headers: { 'content-type': 'audio/mpeg' } })
    if (path === '/audio/transcriptions' && body.stream === 'true') return transcriptStream(`heard ${number}`)
    const answer = otherAnswer(path, body, number) as Json
    if (this.fewer) answer.data?.pop()
    return Response.json(answer)
  }

  async #chat(body: Json, number: number): Promise<Response> {
    await this.#gate
    const text = lastText(body)
    if (text.includes('fail')) return Response.json({ error: { message: 'told to fail', type: 'x' } }, { status: 500 })
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
    const message = text.includes('call a tool')
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: `answer ${number}` }
    const reason = text.includes('call a tool') ? 'tool_calls' : text.includes('filter') ? 'content_filter' : 'stop'
    return Response.json({
      id: `chatcmpl-${number}`,
      object: 'chat.completion',
      created: 1,
      model: 'up',
      choices: [{ index: 0, message, finish_reason: reason }],
      usage,
    })
  }

  #stream(body: Json, number: number): Response {
    const gate = this.#gate
    const text = lastText(body)
    const chunk = (delta: Json, more: Json = {}) =>
      `data: ${JSON.stringify({ id: `chatcmpl-${number}`, object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`
    if (text.includes('fail')) return Response.json({ error: { message: 'told to fail', type: 'x' } }, { status: 500 })
    const padding = text.includes('long') ? 'x'.repeat(1024) : ''
    return new Response(
      new ReadableStream({
        async start(controller) {
          const write = (piece: string) => controller.enqueue(Buffer.from(piece))
          write(chunk({ role: 'assistant', content: 'answer ' }))
          await gate
          if (text.includes('cut')) return controller.close()
          for (let at = 0; padding !== '' && at < 1000; at++) write(chunk({ content: padding }))
          write(chunk({ content: String(number) }))
          write(chunk({}, { finish_reason: 'stop' }))
          write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [], usage })}\n\n`)
          write('data: [DONE]\n\n')
          controller.close()
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  }
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

const lastText = ({ messages }: Json): string => JSON.stringify(messages?.at(-1)?.content ?? '')

function transcriptStream(text: string): Response {
  const events = [
    { type: 'transcript.text.delta', delta: text },
    { type: 'transcript.text.done', text },
  ]
  const body = events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function otherAnswer(path: string, body: Json, number: number): object {
  switch (path) {
    case '/completions':
      return {
        id: `cmpl-${number}`,
        object: 'text_completion',
        created: 1,
        model: 'up',
        choices: [{ index: 0, text: `answer ${number}`, finish_reason: 'stop', logprobs: null }],
        usage,
      }
    case '/embeddings': {
      const inputs = Array.isArray(body.input) ? body.input : [body.input]
      const data = inputs.map((input: string, index: number) => ({ index, embedding: embeddingOf(String(input)) }))
      return { object: 'list', model: 'up', data, usage: { prompt_tokens: 3 * inputs.length, total_tokens: 3 } }
    }
    case '/moderations':
      return { id: `modr-${number}`, model: 'up', results: [{ flagged: false, categories: {}, category_scores: {} }] }
    case '/rerank':
      return { id: `r-${number}`, results: [{ index: 0, relevance_score: 0.5 }], meta: {} }
    case '/audio/transcriptions':
      return { text: `heard ${number}` }
    default:
      return {}
  }
}

/** Texts with the same words, in any order, are alike. */
function embeddingOf(text: string): number[] {
  const vector: number[] = new Array<number>(64).fill(0)
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) vector[Number(Bun.hash.crc32(word)) % vector.length] = 1
  if (!vector.some(one => one > 0)) vector[0] = 1
  return vector
}
