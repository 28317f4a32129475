/** What a gateway answers is what its API document says: every operation, whole and streamed, refused and served. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ApiDocumentCheck } from '../support/api-document.ts'
import type { ApiDocument, Step } from '../support/api-document.ts'
import { askModelsByApi } from './api-document-models.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolTestServer } from '../support/tool-server.ts'
import { askTools } from './api-document-tools.ts'
import { masterKey, startGateway } from './harness.ts'
import { signInAndOut } from './sign-in-steps.ts'
import { useAgents } from './agents-steps.ts'
import { manageDirectory, manageTenancy } from './tenancy-steps.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

/** Answers are kept for those who ask for it: nothing here does. */
const switchedOn = `litellm_settings: { cache: true, cache_params: { mode: default_off } }
general_settings: { managed_settings: { permissions: { deny: [WebFetch] } } }`
const config = (batches: string, tools: string) => `
model_list:
  - model_name: chat-model
    proxy_params:
      model: custom_openai/sim-chat
      api_base: "{simulator}/v1"
      api_key: k
      input_cost_per_token: 0.000003
      output_cost_per_token: 0.000015
  - model_name: claude-model
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: k, input_cost_per_token: 0.000003 }
  - model_name: gemini-model
    proxy_params: { model: gemini/sim-gemini, api_base: "{simulator}", api_key: k }
  - model_name: native-model
    proxy_params: { model: openai/sim-responses, api_base: "{simulator}/v1", api_key: k }
  - model_name: embedding-model
    proxy_params: { model: custom_openai/sim-embedding, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: embedding }
  - model_name: "media/*"
    proxy_params: { model: "openai/*", api_base: "{simulator}/v1", api_key: k }
  - model_name: "fault/*"
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: k }
  - model_name: rerank-model
    proxy_params: { model: jina_ai/sim-rerank, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: rerank }
  - model_name: cohere-model
    proxy_params: { model: cohere/sim-rerank, api_base: "{simulator}", api_key: k }
    model_info: { mode: rerank }
  - model_name: batch-model
    proxy_params: { model: openai/sim-batch, api_base: "${batches}/v1", api_key: k }
mcp_servers:
  tools: { url: "${tools}" }
router_settings: { num_retries: 0 }
`

/** Files and batches, of which the simulator has only the files. A batch completes when it is looked at. */
function startBatchUpstream() {
  const files = new Map<string, Json>()
  const batches = new Map<string, Json>()
  const json = (value: unknown) => Response.json(value)
  const keep = (purpose: string, filename: string, text: string): Json => {
    const id = `file-up${files.size}`
    const file = { id, object: 'file', bytes: text.length, created_at: 5, filename, purpose, status: 'processed' }
    files.set(id, { ...file, text })
    return file
  }
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const [, kind, id, action] = new URL(request.url).pathname.replace(/^\/v1/, '').split('/')
      if (kind === 'files' && request.method === 'POST') {
        const form = await request.formData()
        const file = form.get('file') as File
        return json(keep(String(form.get('purpose')), file.name, await file.text()))
      }
      if (kind === 'files') {
        const { text, ...file } = files.get(id!)!
        return action === 'content' ? new Response(String(text)) : json(file)
      }
      if (request.method === 'POST' && id === undefined) {
        const { input_file_id, endpoint } = (await request.json()) as Json
        const batch = { id: `batch_up${batches.size}`, object: 'batch', endpoint, input_file_id, created_at: 5 }
        batches.set(batch.id, { ...batch, completion_window: '24h', status: 'validating', metadata: null })
        return json(batches.get(batch.id))
      }
      const batch = batches.get(id!)!
      if (action === 'cancel') batch.status = 'cancelling'
      else if (batch.status === 'validating') {
        batch.status = 'completed'
        batch.completed_at = 6
        batch.request_counts = { total: 1, completed: 1, failed: 0 }
        batch.output_file_id = keep('batch_output', 'out.jsonl', '{}').id
      }
      return json(batch)
    },
  })
}

interface Asking {
  /** What stands in the path's parameters. */
  readonly in?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: object | FormData | URLSearchParams
  readonly headers?: Readonly<Record<string, string>>
  /** Absent = the master key; '' = none. */
  readonly key?: string
  /** Absent = 200. */
  readonly status?: number
}

const message = (text: string) => ({ messages: [{ role: 'user', content: text }] })
const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

describe('the API document and the gateway that serves it', () => {
  let gateway: Gateway
  let upstream: ReturnType<typeof startBatchUpstream>
  let toolServer: ToolTestServer
  let check: ApiDocumentCheck

  beforeAll(async () => {
    upstream = startBatchUpstream()
    toolServer = startToolServer({ generation: 'stateless' })
    gateway = await startGateway({
      config: `${config(upstream.url.href.replace(/\/$/, ''), toolServer.url)}\n${switchedOn}`,
      // A mail that nothing takes is sent all the same.
      environment: {
        SMTP_HOST: '127.0.0.1',
        SMTP_PORT: '9',
        SMTP_SENDER_EMAIL: 'gateway@example.com',
        PROXY_BASE_URL: 'http://127.0.0.1',
      },
    })
    check = new ApiDocumentCheck((await (await fetch(`${gateway.url}/openapi.json`)).json()) as ApiDocument)
  })
  afterAll(async () => {
    await gateway?.stop()
    await upstream?.stop(true)
    await toolServer?.stop()
  })

  const send = ({ method, path }: Step, asking: Asking = {}) => {
    const { in: params = {}, query = '', body, headers = {}, key = masterKey } = asking
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'none'))
    return fetch(`${gateway.url}${target}${query && `?${query}`}`, {
      method,
      headers: { ...(key && { authorization: `Bearer ${key}` }), ...headers },
      ...(body && { body: body instanceof FormData || body instanceof URLSearchParams ? body : JSON.stringify(body) }),
    })
  }

  const ask = async (method: string, path: string, asking: Asking = {}): Promise<Json> => {
    const response = await send({ method, path }, asking)
    const value = await check.check({ method, path }, response)
    expect([method, path, response.status]).toEqual([method, path, asking.status ?? 200])
    return value as Json
  }
  const post = (path: string, body: object, asking: Asking = {}) => ask('POST', path, { ...asking, body })
  /** Whole and as a stream. */
  const both = async (path: string, body: object) => {
    await post(path, body)
    await post(path, { ...body, stream: true })
  }
  const form = (fields: Readonly<Record<string, string>>, name = 'file', type = 'audio/wav') => {
    const made = new FormData()
    made.append(name, new File([new Uint8Array(2000).fill(3)], `a.${type.split('/')[1]}`, { type }))
    for (const [field, value] of Object.entries(fields)) made.append(field, value)
    return made
  }

  const chatModels = ['chat-model', 'claude-model', 'gemini-model', 'native-model', 'local/simulated-chat']
  const chatPaths = [
    '/chat/completions',
    '/v1/chat/completions',
    '/openai/v1/chat/completions',
    '/cursor/chat/completions',
  ]

  test('chats: text, thinking, calls, logprobs, usage, errors in streams', async () => {
    for (const path of chatPaths) await both(path, { model: 'chat-model', ...message('say: hi') })
    for (const path of Object.keys(check.document.paths).filter(one => one.endsWith('}/chat/completions'))) {
      await post(path, message('say: hi'), { in: { model: 'chat-model' } })
      await post(path, { ...message('say: hi'), stream: true }, { in: { model: 'chat-model' } })
    }
    for (const model of chatModels) {
      const path = '/v1/chat/completions'
      await both(path, { model, ...message('think'), reasoning_effort: 'low' })
      const called = { model, ...message('use the tool'), tools: [weather], stream_options: { include_usage: true } }
      await post(path, called)
      await post(path, { ...called, stream: true })
    }
    const exact = { model: 'chat-model', ...message('say: a b c'), logprobs: true, top_logprobs: 2, n: 2 }
    await both('/v1/chat/completions', exact)
    const functions = [weather.function]
    await both('/v1/chat/completions', { model: 'chat-model', ...message('use the tool'), functions })
    const broken = { model: 'fault/x#error-in-stream;at=9;token-ms=20', ...message('tokens: 40'), stream: true }
    expect(JSON.stringify(await post('/v1/chat/completions', broken))).toContain('"error":')
  })

  test('text completions, embeddings, moderations, reranking', async () => {
    for (const path of ['/completions', '/v1/completions', '/openai/v1/completions'])
      await both(path, { model: 'chat-model', prompt: 'say: hi' })
    await both('/v1/completions', { model: 'chat-model', prompt: 'say: hi', logprobs: 2, echo: true })
    await both('/v1/completions', { model: 'claude-model', prompt: 'say: hi' })
    for (const path of ['/embeddings', '/v1/embeddings', '/openai/v1/embeddings'])
      await post(path, { model: 'embedding-model', input: ['a', 'b'] })
    await post('/v1/embeddings', { model: 'embedding-model', input: 'a', encoding_format: 'base64' })
    await post('/v1/embeddings', { model: 'local/simulated-embedding', input: 'a' })
    for (const path of Object.keys(check.document.paths).filter(one => /\}\/(completions|embeddings)$/.test(one))) {
      const isText = path.endsWith('completions')
      const params = { in: { model: isText ? 'chat-model' : 'embedding-model' } }
      await post(path, isText ? { prompt: 'x' } : { input: 'x' }, params)
      if (isText) await post(path, { prompt: 'x', stream: true }, params)
    }
    for (const path of ['/moderations', '/v1/moderations', '/openai/v1/moderations'])
      for (const model of ['media/omni-moderation', 'local/simulated-moderation'])
        await post(path, { model, input: ['I will kill you', 'hi'] })
    const documents = ['one cat', { text: 'two dogs' }]
    for (const path of ['/rerank', '/v1/rerank', '/v2/rerank'])
      for (const model of ['rerank-model', 'cohere-model', 'local/simulated-rerank'])
        await post(path, { model, query: 'cat', documents, return_documents: path !== '/v2/rerank' })
  })

  test('pictures and sound', async () => {
    const pathsOf = (end: string) => Object.keys(check.document.paths).filter(path => path.endsWith(end))
    const params = { in: { model: 'media/gpt-image' } }
    for (const path of pathsOf('/images/generations')) {
      await post(path, { model: 'media/gpt-image', prompt: 'a cat' }, params)
      await post(path, { model: 'media/gpt-image', prompt: 'a cat', stream: true, partial_images: 1 }, params)
    }
    await post('/v1/images/generations', { model: 'media/dall-e-3', prompt: 'a cat' })
    await post('/v1/images/generations', { model: 'local/simulated-image', prompt: 'a cat' })
    for (const path of pathsOf('/images/edits')) {
      const fields = { model: 'media/gpt-image', prompt: 'a hat' }
      await post(path, form(fields, 'image', 'image/png'), params)
      await post(path, form({ ...fields, stream: 'true' }, 'image', 'image/png'), params)
    }
    for (const path of pathsOf('/images/variations'))
      await post(path, form({ model: 'media/dall-e-2' }, 'image', 'image/png'), { in: { model: 'media/dall-e-2' } })
    const speech = { model: 'media/gpt-speech', input: 'hello', voice: 'alloy' }
    for (const path of pathsOf('/audio/speech')) {
      await post(path, speech, { in: { model: 'media/gpt-speech' } })
      await post(path, { ...speech, stream_format: 'sse' }, { in: { model: 'media/gpt-speech' } })
    }
    await post('/v1/audio/speech', { ...speech, model: 'local/simulated-speech', response_format: 'wav' })
    const heard = { in: { model: 'media/gpt-transcribe' } }
    for (const path of [...pathsOf('/audio/transcriptions'), ...pathsOf('/audio/translations')]) {
      for (const format of ['json', 'verbose_json', 'text', 'srt', 'vtt'])
        await post(path, form({ model: 'media/gpt-transcribe', response_format: format }), heard)
      if (path.endsWith('translations')) continue
      await post(path, form({ model: 'media/gpt-transcribe', response_format: 'diarized_json' }), heard)
      await post(path, form({ model: 'media/gpt-transcribe', stream: 'true' }), heard)
    }
    await post('/v1/audio/transcriptions', form({ model: 'media/whisper-1' }))
  })

  test('responses: made, streamed, kept, counted, in the background', async () => {
    for (const base of ['/v1/responses', '/responses', '/openai/v1/responses', '/openai/responses']) {
      for (const model of chatModels) await both(base, { model, input: 'think', reasoning: { effort: 'low' } })
      const tools = [{ type: 'function', name: 'weather', parameters: weather.function.parameters }]
      for (const model of chatModels) await both(base, { model, input: 'use the tool', tools })
      await both(base, { model: 'native-model', input: 'draw', tools: [{ type: 'image_generation' }] })
      await post(`${base}/input_tokens`, { model: 'chat-model', input: 'hi' })
      await post(`${base}/compact`, { model: 'chat-model', input: 'hi' })
      await post(`${base}/input_tokens`, { model: 'native-model', input: 'hi' })
      const { id } = await post(base, { model: 'chat-model', input: 'say: hi' })
      const kept = { in: { id: String(id) } }
      await ask('GET', `${base}/{id}`, kept)
      await ask('GET', `${base}/{id}`, { ...kept, query: 'stream=true' })
      await ask('GET', `${base}/{id}/input_items`, kept)
      await ask('POST', `${base}/{id}/cancel`, { ...kept, status: 400 })
      await ask('DELETE', `${base}/{id}`, kept)
      await ask('GET', `${base}/{id}`, { ...kept, status: 404 })
      const background = await post(base, { model: 'fault/x#slow;ms=3000', input: 'x', background: true })
      await ask('POST', `${base}/{id}/cancel`, { in: { id: String(background.id) } })
    }
  })

  test("Anthropic's Messages", async () => {
    const user = { max_tokens: 2000, ...message('say: hi') }
    const tools = [{ name: 'weather', input_schema: weather.function.parameters }]
    for (const base of ['/v1/messages', '/messages', '/anthropic/v1/messages'])
      for (const model of chatModels) {
        await both(base, { model, ...user })
        await both(base, { model, ...user, thinking: { type: 'enabled', budget_tokens: 1024 } })
        await both(base, { model, ...user, ...message('use the tool'), tools })
        await post(`${base}/count_tokens`, { model, ...message('hi') })
      }
    await post('/v1/messages', { model: 'nothing', ...user }, { status: 404 })
    await post('/v1/messages', { model: 'chat-model' }, { status: 422 })
    const cut = {
      model: 'fault/x#error-in-stream;at=9;token-ms=20',
      max_tokens: 50,
      ...message('tokens: 40'),
      stream: true,
    }
    const broken = await post('/v1/messages', cut)
    expect(JSON.stringify(broken)).toContain('"type":"error"')
  })

  test("Gemini's dialect", async () => {
    const contents = [{ role: 'user', parts: [{ text: 'say: hi' }] }]
    const generationConfig = { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } }
    const called = {
      contents: [{ role: 'user', parts: [{ text: 'use the tool' }] }],
      tools: [{ functionDeclarations: [weather.function] }],
    }
    for (const base of ['/v1beta', '/v1', '/gemini/v1beta', '/gemini/v1', '/gemini', ''])
      for (const model of chatModels) {
        const path = (action: string) => `${base}/models/{model}:${action}`
        const named = { in: { model } }
        await post(path('generateContent'), { contents, generationConfig }, named)
        await post(path('generateContent'), called, named)
        await post(path('streamGenerateContent'), { contents, generationConfig }, named)
        await post(path('streamGenerateContent'), called, { ...named, query: 'alt=sse' })
        await post(path('countTokens'), { contents }, named)
        const content = { parts: [{ text: 'hi' }] }
        const vectors = { in: { model: 'embedding-model' } }
        await post(path('embedContent'), { content }, vectors)
        await post(path('batchEmbedContents'), { requests: [{ model: 'models/embedding-model', content }] }, vectors)
        const isOpenai = base === '/v1' || base === ''
        const other = `${base}/models/${isOpenai ? '{model_id}' : '{model}'}`
        await post(other, {}, { in: { model: `${model}:paint`, model_id: `${model}:paint` }, status: 404 })
      }
    for (const base of ['/v1beta', '/gemini/v1beta', '/gemini/v1']) {
      await ask('GET', `${base}/models`, { query: 'pageSize=2' })
      await ask('GET', `${base}/models/{model}`, { in: { model: 'chat-model' } })
      await ask('GET', `${base}/models/{model}`, { in: { model: 'none' }, status: 404 })
    }
    const path = '/v1beta/models/{model}:streamGenerateContent'
    const many = { contents: [{ role: 'user', parts: [{ text: 'tokens: 40' }] }] }
    const broken = await post(path, many, { in: { model: 'fault/x#error-in-stream;at=9;token-ms=20' } })
    expect(JSON.stringify(broken)).toContain('"error":')
  })

  test('assistants, threads, messages, runs and steps', async () => {
    for (const base of ['', '/v1', '/openai/v1', '/openai']) {
      const made = await post(`${base}/assistants`, { model: 'chat-model', tools: [weather], name: 'a' })
      const assistant_id = String(made.id)
      await ask('GET', `${base}/assistants`)
      await ask('GET', `${base}/assistants/{assistant_id}`, { in: { assistant_id } })
      await post(`${base}/assistants/{assistant_id}`, { name: 'b' }, { in: { assistant_id } })

      const thread = await post(`${base}/threads`, { messages: [{ role: 'user', content: 'say: hi' }] })
      const params: Record<string, string> = { thread_id: String(thread.id) }
      const at = { in: params }
      const one = `${base}/threads/{thread_id}`
      await ask('GET', one, at)
      await post(one, { metadata: { a: 'b' } }, at)
      const image = [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }]
      params.message_id = String((await post(`${one}/messages`, { role: 'user', content: image }, at)).id)
      await ask('GET', `${one}/messages`, at)
      await ask('GET', `${one}/messages/{message_id}`, at)
      await post(`${one}/messages/{message_id}`, { metadata: { a: 'b' } }, at)
      await ask('DELETE', `${one}/messages/{message_id}`, at)

      const events = await post(`${one}/runs`, { assistant_id, stream: true }, at)
      params.run_id = String(
        (events as unknown as { object?: string; id: string }[]).find(event => event.object === 'thread.run')!.id,
      )
      await ask('GET', `${one}/runs`, at)
      await ask('GET', `${one}/runs/{run_id}`, at)
      await post(`${one}/runs/{run_id}`, { metadata: { a: 'b' } }, at)
      const steps = (await ask('GET', `${one}/runs/{run_id}/steps`, at)) as { data: { id: string }[] }
      await ask('GET', `${one}/runs/{run_id}/steps/{step_id}`, { in: { ...params, step_id: steps.data[0]!.id } })
      await ask('POST', `${one}/runs/{run_id}/cancel`, { ...at, status: 400 })
      await post(`${one}/runs`, { assistant_id }, at)
      await toolRun(base, assistant_id)
      await ask('GET', `${base}/threads`)
      await ask('DELETE', one, at)
      await ask('DELETE', `${base}/assistants/{assistant_id}`, { in: { assistant_id } })
    }
  })

  /** Three runs that wait for a tool: one gets the output and answers whole, one as a stream, one is cancelled. */
  async function toolRun(base: string, assistant_id: string): Promise<void> {
    const one = `${base}/threads/{thread_id}/runs/{run_id}`
    for (const stream of [false, true, undefined]) {
      const begun = { assistant_id, thread: message('use the tool'), tool_choice: 'required', stream: stream ?? false }
      const made = await post(`${base}/threads/runs`, begun)
      const events = stream ? (made as unknown as { object?: string }[]) : [made]
      const first = events.find(event => event.object === 'thread.run') as { id: string; thread_id: string }
      const at = { in: { thread_id: first.thread_id, run_id: first.id } }
      let run = await ask('GET', one, at)
      for (; run.status === 'queued' || run.status === 'in_progress'; run = await ask('GET', one, at))
        await Bun.sleep(10)
      expect(run.status).toBe('requires_action')
      if (stream === undefined) {
        await ask('POST', `${one}/cancel`, at)
        continue
      }
      const { submit_tool_outputs: asked } = run.required_action as {
        submit_tool_outputs: { tool_calls: { id: string }[] }
      }
      const outputs = asked.tool_calls.map(({ id }) => ({ tool_call_id: id, output: 'sunny' }))
      await post(`${one}/submit_tool_outputs`, { tool_outputs: outputs, stream }, at)
    }
  }

  test('files and batches', async () => {
    const line = {
      custom_id: '1',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'batch-model', ...message('x') },
    }
    for (const base of ['', '/v1', '/openai/v1', '/openai']) {
      const lines = new FormData()
      lines.append('purpose', 'batch')
      lines.append('model', 'batch-model')
      lines.append('file', new File([JSON.stringify(line)], 'lines.jsonl'))
      const file_id = String((await post(`${base}/files`, lines)).id)
      const file = { in: { file_id } }
      await ask('GET', `${base}/files`)
      await ask('GET', `${base}/files/{file_id}`, file)
      await ask('GET', `${base}/files/{file_id}/content`, file)
      for (const action of ['', '/cancel']) {
        const body = { input_file_id: file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
        const batch_id = String((await post(`${base}/batches`, body)).id)
        const batch = { in: { batch_id } }
        if (!action) await ask('GET', `${base}/batches/{batch_id}`, batch)
        else await ask('POST', `${base}/batches/{batch_id}/cancel`, batch)
        // One that is only being cancelled has no end yet, and nothing of it is settled.
        await ask('DELETE', `${base}/batches/{batch_id}`, action ? { ...batch, status: 409 } : batch)
      }
      await ask('GET', `${base}/batches`)
      await ask('DELETE', `${base}/files/{file_id}`, file)
      await ask('GET', `${base}/files/{file_id}`, { ...file, status: 404 })
    }
  })

  test('signing in and out', () => signInAndOut(ask, gateway.url))

  test('conversations', async () => {
    await ask('GET', '/chat/settings')
    await ask('PATCH', '/chat/settings', { body: { retention_days: 30 } })
    const { id: conversation_id } = (await post('/chat/conversations', { title: 'First' })) as { id: string }
    const place = { in: { conversation_id } }
    const path = '/chat/conversations/{conversation_id}'
    const beginnings = [
      '\x89PNG\r\n\x1a\n',
      '\xff\xd8\xff',
      'GIF8',
      'RIFF0000WEBP',
      '%PDF-',
      'RIFF0000WAVE',
      'ID3',
      'x',
    ]
    const attachments = beginnings.map(start => ({ name: 'x', data: Buffer.from(start, 'latin1').toString('base64') }))
    const body = { text: 'Hi', models: ['chat-model'], attachments }
    const { message, answers } = await post(`${path}/messages`, body, place)
    const first = (answers as { id: string }[])[0]!.id
    const follow = async (message_id: string) =>
      ask('GET', `${path}/messages/{message_id}/events`, { in: { conversation_id, message_id } })
    await follow(first)
    const question = { in: { conversation_id, message_id: (message as { id: string }).id } }
    const { content } = message as { content: { attachments: { id: string }[] } }
    for (const { id: attachment_id } of content.attachments)
      await ask('GET', `${path}/attachments/{attachment_id}`, { in: { conversation_id, attachment_id } })
    const again = await post(`${path}/messages/{message_id}/answers`, { models: ['chat-model'] }, question)
    await follow((again.answers as { id: string }[])[0]!.id)
    await post(`${path}/messages/{message_id}/stop`, {}, { in: { conversation_id, message_id: first } })
    await ask('GET', path, place)
    await ask('GET', `${path}/export`, place)
    await ask('PATCH', path, { ...place, body: { title: 'Second' } })
    await ask('GET', '/chat/conversations')
    await ask('DELETE', path, place)
    await ask('GET', path, { ...place, status: 404 })
    await ask('DELETE', '/chat/conversations')
  })

  test('coding agents', () => useAgents(ask, gateway.url))

  test('models, keys, the ledger, utilities, health, the document itself', async () => {
    for (const path of ['/models', '/v1/models', '/openai/v1/models', '/anthropic/v1/models', '/openai/models']) {
      await ask('GET', path, { query: 'include_metadata=true&return_wildcard_routes=true' })
      await ask('GET', path, { query: 'client_version=0.1' })
      await ask('GET', path, { headers: { 'x-goog-api-client': 'x' } })
      await ask('GET', path, { query: 'limit=0', status: 422 })
    }
    for (const path of ['', '/v1', '/openai/v1', '/openai'].map(base => `${base}/models/{model_id}`))
      await ask('GET', path, { in: { model_id: 'chat-model' } })
    await ask('GET', '/anthropic/v1/models/{model_id}', { in: { model_id: 'claude-model' } })
    await ask('GET', '/v1/models/{model_id}', { in: { model_id: 'none' }, status: 404 })
    for (const path of ['/model/info', '/v1/model/info']) await ask('GET', path)
    const made = await post('/key/generate', { key_alias: 'a', duration: '1h', rpm_limit: 2, models: ['chat-model'] })
    const key = String(made.key)
    await ask('GET', '/key/info', { key })
    await ask('GET', '/key/list')
    await ask('GET', '/key/list', { query: 'return_full_object=true' })
    await ask('GET', '/key/list', { key, status: 403 })
    await post('/key/update', { key, max_parallel_requests: 3 })
    await post('/key/block', { key })
    await post('/key/unblock', { key })
    for (const status of [200, 200, 429])
      await post('/v1/chat/completions', { model: 'chat-model', ...message('x') }, { key, status })
    await post('/v1/messages', { model: 'chat-model', max_tokens: 5, ...message('x') }, { key, status: 429 })
    const narrow = (await post('/key/generate', { models: ['chat-model'] })).key as string
    await post('/v1/chat/completions', { model: 'claude-model', ...message('x') }, { key: narrow, status: 403 })
    await post('/key/derive', { max_budget: 1, duration: '1h' }, { key: narrow })
    await post('/key/derive', { models: ['claude-model'] }, { key: narrow, status: 422 })
    await post('/key/derive', {}, { status: 403 })
    await askModelsByApi(ask)
    const rows = (await ask('GET', '/spend/logs/v2', { query: 'page_size=1000' })) as { data: Json[] }
    expect(rows.data.length).toBeGreaterThan(3)
    await post('/key/delete', { keys: [key] })
    await post('/utils/token_counter', { model: 'gpt-4o', prompt: 'hi' })
    await post('/utils/token_counter', { model: 'claude-model', ...message('x') }, { query: 'call_endpoint=true' })
    for (const name of ['supported_compat_params', 'supported_openai_params'])
      await ask('GET', `/utils/${name}`, { query: 'model=chat-model' })
    const request = { model: 'chat-model', ...message('x') }
    await post('/utils/transform_request', { call_type: 'completion', request_body: request })
    await post('/utils/transform_request', { call_type: 'completion', request_body: {} })
    for (const path of ['/health/liveliness', '/health/liveness', '/health/readiness', '/metrics', '/openapi.json'])
      await ask('GET', path, { key: '' })
    for (const path of ['/docs', '/']) await ask('GET', path, { key: '' })
    for (const asset of ['swagger-ui.css', 'swagger-ui-bundle.js', 'theme.js', 'start.js'])
      await ask('GET', '/docs/{asset}', { in: { asset }, key: '' })
    await ask('GET', '/docs/{asset}', { in: { asset: 'none' }, key: '', status: 404 })
    await ask('GET', '/sso/callback', { key: '', status: 403 })
  })

  test('spending and usage', async () => {
    const tagged = { model: 'chat-model', user: 'customer', tags: ['x'], ...message('x') }
    await post('/v1/chat/completions', tagged)
    const paths = Object.keys(check.document.paths).filter(path => /^\/(spend|global)\/|\/daily\/activity$/.test(path))
    expect(paths.length).toBeGreaterThan(15)
    const live = { method: 'GET', path: '/spend/logs/events' }
    const listed = paths.filter(path => check.document.paths[path]!.get && !path.includes('{') && path !== live.path)
    for (const path of listed) await ask('GET', path)
    const stream = await send(live)
    await post('/v1/chat/completions', tagged)
    const reader = stream.body!.getReader()
    let events = ''
    while (!/^event: rows\n.*\n\n/m.test(events)) events += new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()
    await check.check(live, new Response(events, stream))
    await post('/cost/estimate', { model: 'chat-model', input_tokens: 10, output_tokens: 5 })
    await post('/spend/calculate', { model: 'chat-model', ...message('x') })
    await ask('POST', '/v1/chat/completions', {
      body: { model: 'chat-model', ...message('x') },
      headers: { 'x-proxy-session-id': 'seen' },
    })
    await ask('GET', '/spend/sessions')
    for (const path of ['/spend/sessions/{id}', '/spend/sessions/{id}/export'])
      await ask('GET', path, { in: { id: 'seen' } })
    for (const group of ['team', 'customer', 'api_key'])
      await ask('GET', '/global/spend/report', { query: `group_by=${group}` })
    const { key } = await post('/key/generate', { key_alias: 'stored', store_prompts_in_spend_logs: true })
    await post('/v1/chat/completions', { model: 'chat-model', ...message('x') }, { key: String(key) })
    const [{ request_id }] = ((await ask('GET', '/spend/logs/v2', { key: String(key) })) as { data: [Json] }).data
    const one = { in: { request_id: String(request_id) } }
    await ask('GET', '/spend/logs/{request_id}/bodies', one)
    await ask('GET', '/spend/logs/ui/{request_id}', one)
    await ask('POST', '/global/spend/end_users', { body: {} })
    await ask('DELETE', '/spend/logs/{request_id}/bodies', one)
    await ask('DELETE', '/spend/logs/bodies', { query: 'team_id=none' })
  })

  test('teams, users, organizations, customers, budgets', () => manageTenancy(ask))

  test('users and groups of a directory', () => manageDirectory(ask))

  test('the cache of answers', async () => {
    await ask('GET', '/cache/ping')
    await ask('POST', '/cache/delete', { body: { keys: ['0'.repeat(64)] } })
    await ask('POST', '/cache/flushall', { body: {} })
    await ask('GET', '/cache/redis/info')
  })

  test('tools', () => askTools(ask))

  test('every operation was answered in every media type that it documents', () => {
    const documented = Object.entries(check.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        [200, 201, 204]
          .filter(status => responses[status])
          .flatMap(status => Object.keys((responses[status] as { content?: object }).content ?? { '': undefined }))
          .map(type => `${method.toUpperCase()} ${path} ${type}`.trim()),
      ),
    )
    // What a vendor answers on paths of its own has no shape here (`pass-through.test.ts`).
    const isOurs = (one: string) => !one.includes(' /passthrough/')
    expect(documented.filter(one => isOurs(one) && !check.seen.has(one))).toEqual([])
  })

  test('without a key every operation that needs one answers 401 in the dialect of its path', async () => {
    for (const [path, methods] of Object.entries(check.document.paths))
      for (const [name, { security }] of Object.entries(methods)) {
        const method = name.toUpperCase()
        if (security.length > 0) await ask(method, path, { key: '', status: 401 })
      }
  })

  test('a body that is no JSON, or none, is refused with a documented status', async () => {
    for (const [path, methods] of Object.entries(check.document.paths))
      for (const [name, { requestBody }] of Object.entries(methods)) {
        if (!requestBody?.content['application/json']) continue
        const step = { method: name.toUpperCase(), path }
        const response = await fetch(`${gateway.url}${path.replace(/\{\w+\}/g, 'chat-model')}`, {
          method: step.method,
          headers: { authorization: `Bearer ${masterKey}` },
          body: '{',
        })
        await check.check(step, response)
        expect([path, [400, 404].includes(response.status)]).toEqual([path, true])
        const wrong = await send(step, { in: { model: 'chat-model' }, body: { model: 5, key: 5, stream: 'x' } })
        const passedOver = (wrong.headers.get('x-warnings') ?? (await wrong.clone().text())).includes('passed over')
        await check.check(step, wrong)
        expect([path, wrong.status >= 400 || passedOver]).toEqual([path, true])
      }
  })

  test('the document and the assets have a strong ETag, and 304 for clients that know it', async () => {
    const paths = ['/openapi.json', '/docs', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/start.js']
    for (const path of paths) {
      const get = (known?: string) =>
        fetch(`${gateway.url}${path}`, known === undefined ? {} : { headers: { 'if-none-match': known } })
      const whole = await get()
      const etag = whole.headers.get('etag')!
      expect([path, etag]).toEqual([path, expect.stringMatching(/^"[\w-]{43}"$/)])
      expect((await whole.bytes()).length).toBeGreaterThan(50)
      for (const known of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
        const same = await get(known)
        expect([path, known, same.status, await same.text()]).toEqual([path, known, 304, ''])
        expect([same.headers.get('etag'), same.headers.get('cache-control')]).toEqual([
          etag,
          whole.headers.get('cache-control'),
        ])
      }
      expect((await get('"other"')).status).toBe(200)
    }
  })
})
