/** Files and batches through a whole gateway, to small upstreams of OpenAI's shape that keep what they get. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { expectConforms } from '../support/openai-conformance.ts'
import { answer, rawUpstream } from '../support/upstreams/raw-upstream.ts'
import { memoryMb, resetPeak, waitFor } from '../bench/machine.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Backend, Gateway } from './harness.ts'
import { until } from '../support/until.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

type Json = Record<string, any>

interface Kept {
  readonly purpose: string
  readonly filename: string
  readonly text: string
}

type Answer = () => Response | Promise<Response>

/** Every id it gives out has `UPID` in it, and so has every error. */
class FilesUpstream {
  readonly files = new Map<string, Kept>()
  readonly batches = new Map<string, Json>()
  readonly calls: string[] = []
  readonly forms: Json[] = []
  /** Answers instead of it, by `METHOD /path`, until it is deleted. */
  readonly instead = new Map<string, Answer>()
  /** Requests or answers that were closed from the other side. */
  closed = 0
  #count = 0
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: 1e9,
    idleTimeout: 60,
    fetch: request => this.#answer(request),
  })

  get url() {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  newId(kind: string) {
    return `${kind}UPID${++this.#count}x`
  }

  keep(purpose: string, filename: string, text: string) {
    const id = this.newId('file-')
    this.files.set(id, { purpose, filename, text })
    return id
  }

  /** The batch ends with the usage of 30 and 12 tokens, and two files of results. */
  complete(fields: Json = {}) {
    const batch = [...this.batches.values()].at(-1)!
    const output = this.keep(
      'batch_output',
      `${batch.id}_output.jsonl`,
      '{"custom_id":"one","response":{"status_code":200}}\n',
    )
    const errors = this.keep('batch_output', `${batch.id}_error.jsonl`, '{"custom_id":"two","error":{}}\n')
    const usage = {
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 10 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 42,
    }
    const changes = {
      status: 'completed',
      output_file_id: output,
      error_file_id: errors,
      completed_at: batch.created_at + 60,
      usage,
      model: 'up-small',
      ...fields,
    }
    this.batches.set(batch.id, { ...batch, ...changes })
  }

  async stop() {
    await this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.slice('/v1'.length)
    const call = `${request.method} ${path}`
    this.calls.push(call)
    request.signal.addEventListener('abort', () => this.closed++)
    const instead = this.instead.get(call) ?? this.instead.get(`${request.method} ${path.replace(/UPID\d+x/, 'ID')}`)
    if (instead) return instead()
    if (call === 'POST /files') return this.#takeFile(request)
    if (call === 'POST /batches') return this.#takeBatch((await request.json()) as Json)
    const [, kind, id, rest] = path.split('/') as [string, string, string, string?]
    const file = this.files.get(id)
    const batch = this.batches.get(id)
    if (kind === 'files' ? !file : !batch)
      return Response.json({ error: { message: `No such object: ${id}` } }, { status: 404 })
    if (batch) {
      if (rest === 'cancel') this.batches.set(id, { ...batch, status: 'cancelling' })
      return Response.json(this.batches.get(id))
    }
    if (rest === 'content') return new Response(file!.text, { headers: { 'content-type': 'application/jsonl' } })
    if (request.method === 'DELETE') return Response.json({ id, object: 'file', deleted: this.files.delete(id) })
    return Response.json(this.#shown(id))
  }

  #shown(id: string) {
    const { purpose, filename, text } = this.files.get(id)!
    return {
      id,
      object: 'file',
      bytes: Buffer.byteLength(text),
      created_at: 1_700_000_000,
      filename,
      purpose,
      status: 'processed',
    }
  }

  async #takeFile(request: Request): Promise<Response> {
    const form = await request.formData()
    const file = form.get('file') as unknown as File
    this.forms.push({ fields: [...form.keys()], authorization: request.headers.get('authorization'), type: file.type })
    return Response.json(this.#shown(this.keep(String(form.get('purpose')), file.name, await file.text())))
  }

  #takeBatch(fields: Json): Response {
    if (!this.files.has(fields.input_file_id))
      return Response.json({ error: { message: `Invalid file: ${fields.input_file_id}` } }, { status: 400 })
    const id = this.newId('batch_')
    this.batches.set(id, { id, object: 'batch', status: 'validating', created_at: 1_700_000_000, ...fields })
    return Response.json(this.batches.get(id))
  }
}

const config = (one: string, two: string, withGone = true) => `
model_list:
  - model_name: small
    proxy_params: { model: openai/up-small, api_base: "${one}", api_key: upstream-key-canary-1, input_cost_per_token: 0.000002, output_cost_per_token: 0.00001, cache_read_input_token_cost: 0.000001, input_cost_per_token_batches: 0.000002, output_cost_per_token_batches: 0.00001, cache_read_input_token_cost_batches: 0.000001 }
    model_info: { id: small-deployment }
  - model_name: large
    proxy_params: { model: openai/up-large, api_base: "${one}", api_key: upstream-key-canary-1 }
    model_info: { id: large-deployment }
  - model_name: "many/*"
    proxy_params: { model: "openai/*", api_base: "${one}", api_key: upstream-key-canary-1 }
    model_info: { id: many-deployment }
  - model_name: elsewhere
    proxy_params: { model: custom_openai/up-elsewhere, api_base: "${two}", api_key: upstream-key-canary-2 }
    model_info: { id: elsewhere-deployment }
  - model_name: chatty
    proxy_params: { model: anthropic/claude-x, api_base: "${two}", api_key: k }
${
  withGone
    ? `  - model_name: leaving
    proxy_params: { model: openai/up-small, api_base: "${two}", api_key: upstream-key-canary-3 }
    model_info: { id: leaving-deployment }
`
    : ''
}router_settings: { num_retries: 0 }
`

const line = (id: string, model: string, fields: Json = {}) =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: 'Hi' }] },
    ...fields,
  })
const linesOf = (...models: string[]) => models.map((model, at) => `${line(`line-${at}`, model)}\n`).join('')

for (const backend of backends())
  describe(`files on ${backend.name}`, () => {
    const one = new FilesUpstream()
    const two = new FilesUpstream()
    let gateway: Gateway
    let key: string
    let client: OpenAI
    let store: Awaited<ReturnType<Backend['open']>>
    /** Every gateway of this suite is over the same store, as replicas are. */
    const start = () =>
      startGateway({
        config: config(one.url, two.url),
        backend: { name: backend.name, open: async () => ({ ...store, close: async () => {} }) },
      })
    const clientOf = (apiKey: string, url = gateway.url) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })

    beforeAll(async () => {
      store = await backend.open()
      gateway = await start()
    })
    beforeEach(async () => {
      key = await gateway.key({
        models: ['small', 'large', 'many/*'],
        user_id: 'u',
        key_alias: `alias-${crypto.randomUUID()}`,
      })
      client = clientOf(key)
      for (const upstream of [one, two]) upstream.instead.clear()
    })
    afterAll(async () => {
      await gateway?.stop()
      await store?.close()
      await Promise.all([one.stop(), two.stop()])
    })

    const call = (path: string, options: RequestInit = {}, caller = key) =>
      fetch(`${gateway.url}${path}`, { ...options, headers: { authorization: `Bearer ${caller}`, ...options.headers } })
    /** Status and body; nothing of an upstream's may be in it. */
    const asked = async (path: string, options: RequestInit = {}, caller = key): Promise<[number, Json]> => {
      const response = await call(path, options, caller)
      const text = await response.text()
      expect(text).not.toContain('UPID')
      expect(text).not.toContain('upstream-key')
      return [response.status, JSON.parse(text) as Json]
    }
    const form = (text: string, fields: Record<string, string> = {}) => {
      const made = new FormData()
      for (const [name, value] of Object.entries({ purpose: 'batch', ...fields })) made.append(name, value)
      made.append('file', new File([text], 'requests.jsonl', { type: 'application/jsonl' }))
      return made
    }
    const send = (text: string, fields: Record<string, string> = {}, caller = key) =>
      asked('/v1/files', { method: 'POST', body: form(text, fields) }, caller)
    const json = (body: Json): RequestInit => ({ method: 'POST', body: JSON.stringify(body) })
    const startBatch = async (caller = key) => {
      const [, file] = await send(linesOf('small', 'small'), {}, caller)
      const [status, batch] = await asked(
        '/v1/batches',
        json({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }),
        caller,
      )
      expect(status).toBe(200)
      return batch
    }
    const rowsOf = async (batch: Json) =>
      (await gateway.rows()).filter(
        row => row.request_id.replaceAll('-', '') === (batch.id as string).slice('batch_'.length),
      )

    // ---- files

    test("OpenAI's client sends, lists, reads and deletes a file; the lines name models as everywhere", async () => {
      const text = `\n${line('a', 'small')}\r\n\n${line('b', 'many/up-x')}\n${line('c', 'large', { note: 'é \u2028' })}`
      const made = await client.files.create({
        file: await toFile(Buffer.from(text), 'in "put".jsonl'),
        purpose: 'batch',
      })
      expectConforms('OpenAIFile', made)
      expect(made).toMatchObject({
        object: 'file',
        purpose: 'batch',
        filename: 'in "put".jsonl',
        created_at: 1_700_000_000,
      })
      expect(made.id).toMatch(/^file-[0-9a-f]{32}$/)
      expect(one.forms.at(-1)).toMatchObject({
        fields: ['purpose', 'file'],
        authorization: 'Bearer upstream-key-canary-1',
      })
      const sent = [...one.files.values()].at(-1)!
      expect(sent.text).toBe(
        `${line('a', 'up-small')}\r\n${line('b', 'up-x')}\n${line('c', 'up-large', { note: 'é \u2028' })}\n`,
      )
      expect(made.bytes).toBe(Buffer.byteLength(sent.text))

      const other = await client.files.create({
        file: await toFile(Buffer.from('any bytes'), 'x.txt'),
        purpose: 'user_data',
      })
      expect([...one.files.values()].at(-1)!.text).toBe('any bytes')
      expect((await client.files.retrieve(made.id)).id).toBe(made.id)
      const listed = await client.files.list()
      expect(listed.data.map(file => file.id)).toEqual([other.id, made.id])
      expectConforms('ListFilesResponse', (await asked('/v1/files'))[1])
      const ids: string[] = []
      for await (const file of client.files.list({ limit: 1, order: 'asc' })) ids.push(file.id)
      expect(ids).toEqual([made.id, other.id])
      expect((await client.files.list({ purpose: 'user_data' })).data.map(file => file.id)).toEqual([other.id])
      expect(await (await client.files.content(made.id)).text()).toBe(sent.text)

      const deleted = await client.files.delete(made.id)
      expectConforms('DeleteFileResponse', deleted)
      expect([...one.files.values()]).not.toContain(sent)
      for (const path of [`/v1/files/${made.id}`, `/v1/files/${made.id}/content`])
        expect((await asked(path))[0]).toBe(404)
      expect((await asked(`/v1/files/${made.id}`, { method: 'DELETE' }))[0]).toBe(404)
      expect((await client.files.list()).data.map(file => file.id)).toEqual([other.id])
    })

    test('without /v1 and under /openai/v1, too; only with a key; a download is never a page', async () => {
      const [, file] = await asked('/files', { method: 'POST', body: form('<script>', { purpose: 'user_data' }) })
      for (const root of ['', '/v1', '/openai/v1']) {
        const content = await call(`${root}/files/${file.id}/content`)
        expect(await content.text()).toBe('<script>')
        expect(content.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''requests.jsonl")
        expect(content.headers.get('x-content-type-options')).toBe('nosniff')
        expect(content.headers.get('x-request-id')).toBeTruthy()
        expect((await asked(`${root}/batches`))[1]).toEqual({
          object: 'list',
          data: [],
          first_id: null,
          last_id: null,
          has_more: false,
        })
        expect((await fetch(`${gateway.url}${root}/files/${file.id}`)).status).toBe(401)
      }
    })

    test('what is gone at the upstream is 404, and can still be deleted', async () => {
      const [, file] = await send('x', { purpose: 'user_data' })
      one.files.clear()
      expect(await asked(`/v1/files/${file.id}`)).toMatchObject([
        404,
        { error: { message: `No such File object: ${file.id}` } },
      ])
      expect((await asked(`/v1/files/${file.id}`, { method: 'DELETE' }))[0]).toBe(200)
      expect((await asked(`/v1/files/${file.id}`, { method: 'DELETE' }))[0]).toBe(404)
    })

    test('forms that cannot be sent say what to change', async () => {
      const refused = async (body: BodyInit, path = '/v1/files') => {
        const [status, answer] = await asked(path, { method: 'POST', body })
        return [status, answer.error.param]
      }
      const calls = one.calls.length
      expect(await refused(form('x', { purpose: 'no such word!' }))).toEqual([422, 'purpose'])
      const twoFiles = form('x')
      twoFiles.append('mask', new File(['y'], 'y'))
      expect(await refused(twoFiles)).toEqual([422, 'file'])
      const none = new FormData()
      none.append('purpose', 'batch')
      expect(await refused(none)).toEqual([422, 'file'])
      expect(await refused('{}')).toEqual([415, null])
      expect(await refused(form('\n \n'))).toEqual([400, 'file'])
      const coded = `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvision\r\n--b\r\ncontent-disposition: form-data; name="file"; filename*=UTF-8''a%00b\r\n\r\nx\r\n--b--\r\n`
      expect(
        await asked('/v1/files', {
          method: 'POST',
          body: coded,
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
        }),
      ).toMatchObject([422, { error: { param: 'file' } }])
      const twice = form('x')
      twice.append('purpose', 'user_data')
      expect(await refused(twice)).toEqual([422, 'purpose'])
      expect(await refused(form('x'), '/v1/files/unknown')).toEqual([405, null])
      expect((await asked('/v1/files?after=file-unknown'))[0]).toBe(422)
      expect((await asked('/v1/files?limit=0'))[0]).toBe(422)
      expect(one.calls.length).toBe(calls)
    })

    // ---- where a file goes

    test('a file goes to the upstream of the named model, or the only one; else the choices are named', async () => {
      const free = await gateway.key()
      const put = async (fields: Record<string, string>, query = '', caller = free) => {
        const before = [one, two].map(upstream => upstream.files.size)
        const [status, body] = await asked(
          `/v1/files${query}`,
          { method: 'POST', body: form('x', { purpose: 'user_data', ...fields }) },
          caller,
        )
        const after = [one, two].map(upstream => upstream.files.size)
        return status === 200
          ? after.findIndex((size, at) => size > before[at]!)
          : [status, body.error.message as string]
      }
      expect(await put({ model: 'small' })).toBe(0)
      expect(await put({ model: 'elsewhere' })).toBe(1)
      expect(two.forms.at(-1)).toMatchObject({
        fields: ['purpose', 'file'],
        authorization: 'Bearer upstream-key-canary-2',
      })
      expect(await put({ target_model_names: 'small, large,many/x' })).toBe(0)
      expect(await put({}, '?model=elsewhere')).toBe(1)
      expect(await put({ model: 'small' }, '?model=elsewhere')).toBe(0)
      expect(await put({ custom_llm_provider: 'custom_openai' })).toBe(1)
      expect(await put({}, '', await gateway.key({ models: ['elsewhere'] }))).toBe(1)
      expect(await put({}, '', await gateway.key({ models: ['many/one'] }))).toBe(0)
      expect(await put({})).toEqual([
        400,
        "several upstreams take files; name a model of the one that you mean as `model` or `target_model_names`: 'small' (openai), 'elsewhere' (custom_openai), 'leaving' (openai)",
      ])
      expect(await put({ custom_llm_provider: 'openai' })).toEqual([
        400,
        expect.stringContaining("'small' (openai), 'leaving' (openai)"),
      ])
      expect(await put({ custom_llm_provider: 'nobody' })).toEqual([
        400,
        expect.stringContaining("no upstream of the provider 'nobody'"),
      ])
      expect(await put({ target_model_names: 'small,elsewhere' })).toEqual([
        400,
        "the model 'elsewhere' is at another upstream than the models before it; a file goes to one",
      ])
      expect(await put({ model: 'chatty' })).toEqual([400, "the model 'chatty' is at an upstream that takes no files"])
      expect(await put({ model: 'unknown' })).toEqual([
        400,
        expect.stringContaining("the model 'unknown' does not exist"),
      ])
      expect(await put({ model: 'elsewhere' }, '', key)).toEqual([
        400,
        expect.stringContaining("this key may not use the model 'elsewhere'"),
      ])
      expect(await put({}, '', await gateway.key({ models: ['chatty'] }))).toEqual([
        400,
        expect.stringContaining('none of the models that this key may use'),
      ])
    })

    test('a bad line is refused by its number, and nothing is sent', async () => {
      const calls = one.calls.length
      const refused: [string, string][] = [
        ['not json', 'is not a JSON object'],
        ['[1]', 'is not a JSON object'],
        ['{"custom_id":"x","custom_id":"y"}', 'given twice'],
        [line('', 'small'), '`custom_id` must be a text'],
        [line('first', 'small'), "`custom_id` 'first' is there twice"],
        [line('x', 'small', { method: 'GET' }), '`method` must be "POST"'],
        [line('x', 'small', { url: '/v1/files' }), '`url` must be one of /v1/chat/completions'],
        [line('x', 'small', { body: undefined }), '`body` is missing'],
        [line('x', 'small', { body: 'text' }), '`body` is not a JSON object'],
        [line('x', 'small', { body: {} }), '`body.model` is missing'],
        [line('x', 'small').replace('"messages"', '"mod\\u0065l":"large","messages"'), 'given twice'],
        [line('x', 'nowhere'), "the model 'nowhere' does not exist"],
        [line('x', 'elsewhere'), "this key may not use the model 'elsewhere'"],
        [`{"custom_id":"x","a":${'['.repeat(100)}`, 'nested deeper'],
      ]
      for (const [bad, why] of refused) {
        const [status, body] = await send(`${line('first', 'small')}\n\n${bad}\n${line('last', 'small')}\n`)
        expect([status, body.error.param, body.error.message]).toEqual([
          400,
          'file',
          expect.stringMatching(/^line 3 of the file: /),
        ])
        expect(body.error.message).toContain(why)
      }
      const [status, body] = await send(linesOf('small', 'elsewhere'), { model: 'small' }, await gateway.key())
      expect([status, body.error.message]).toEqual([
        400,
        "line 2 of the file: the model 'elsewhere' is not at the upstream that this file goes to; a batch runs at one upstream",
      ])
      expect(one.calls.length).toBe(calls)
      expect((await asked('/v1/files'))[1].data).toEqual([])
    })

    // ---- batches

    test("OpenAI's client runs a batch; its end is in the ledger once, with usage, cost and key", async () => {
      const file = await client.files.create({
        file: await toFile(Buffer.from(linesOf('small', 'small')), 'in.jsonl'),
        purpose: 'batch',
      })
      const batch = await client.batches.create({
        input_file_id: file.id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        metadata: { job: 'nightly' },
      })
      expectConforms('Batch', batch)
      expect(batch).toMatchObject({ status: 'validating', input_file_id: file.id, metadata: { job: 'nightly' } })
      expect(batch.id).toMatch(/^batch_[0-9a-f]{32}$/)
      expect(await client.batches.retrieve(batch.id)).toEqual(batch)
      expect(await rowsOf(batch)).toEqual([])

      one.complete({
        status: 'COMPLETED',
        errors: { object: 'list', data: [{ message: `see ${[...one.batches.keys()].at(-1)}_output.jsonl` }] },
      })
      const seen = await Promise.all(Array.from({ length: 5 }, () => asked(`/v1/batches/${batch.id}`)))
      const done = seen[0]![1]
      for (const [, other] of seen) expect(other).toEqual(done)
      expect(done).toMatchObject({
        status: 'completed',
        model: 'small',
        input_file_id: file.id,
        errors: { data: [{ message: `see ${batch.id}_output.jsonl` }] },
      })
      expect((await client.batches.list()).data.map(({ id, status }) => [id, status])).toEqual([
        [batch.id, 'completed'],
      ])
      const output = await client.files.retrieve(done.output_file_id)
      expect(output).toMatchObject({ purpose: 'batch_output', filename: `${batch.id}_output.jsonl` })
      expect(await (await client.files.content(done.output_file_id)).text()).toStartWith('{"custom_id":"one"')
      expect(await (await client.files.content(done.error_file_id)).text()).toStartWith('{"custom_id":"two"')
      expect((await client.files.list()).data.length).toBe(3)

      const rows = await rowsOf(batch)
      expect(rows).toMatchObject([
        {
          route: '/v1/batches',
          operation: 'batches',
          outcome: 'success',
          status: 200,
          model: 'small',
          deployment_id: 'small-deployment',
          upstream_model: 'up-small',
          user_id: 'u',
          key_alias: expect.stringContaining('alias-'),
          input_tokens: 30,
          output_tokens: 12,
          cached_input_tokens: 10,
          reasoning_tokens: 2,
          usage_source: 'upstream',
          cost_nano_usd: String(20 * 2000 + 10 * 1000 + 12 * 10_000),
        },
      ])
    })

    test('a batch of several models has its usage and no cost; one that is cancelled is told so', async () => {
      const [, file] = await send(linesOf('small', 'large'))
      const [, batch] = await asked('/v1/batches', json({ input_file_id: file.id, endpoint: '/v1/chat/completions' }))
      expect((await client.batches.cancel(batch.id)).status).toBe('cancelling')
      one.complete({ status: 'cancelled', output_file_id: null })
      const [, done] = await asked(`/v1/batches/${batch.id}`)
      expect([done.status, done.output_file_id, done.model]).toEqual(['cancelled', null, 'up-small'])
      expect(await rowsOf(batch)).toMatchObject([
        { outcome: 'client_closed', model: 'small,large', upstream_model: null, input_tokens: 30, cost_nano_usd: null },
      ])
    })

    test('fields that would go round the checks of the file are refused', async () => {
      const [, file] = await send(linesOf('small'))
      const body = { input_file_id: file.id, endpoint: '/v1/chat/completions' }
      const calls = one.calls.length
      for (const field of ['override_settings', 'replace', 'input_blob', 'model'])
        expect(await asked('/v1/batches', json({ ...body, [field]: 'x' }))).toMatchObject([
          422,
          { detail: [{ loc: ['body', field] }] },
        ])
      const [, other] = await send('{}', { purpose: 'user_data' })
      expect(await asked('/v1/batches', json({ ...body, input_file_id: other.id }))).toMatchObject([
        400,
        { error: { param: 'input_file_id' } },
      ])
      expect(await asked('/v1/batches', json({ ...body, custom_llm_provider: 'azure' }))).toMatchObject([
        400,
        { error: { param: 'custom_llm_provider' } },
      ])
      expect(
        await asked('/v1/batches', json({ ...body, input_file_id: [...one.files.keys()].at(-1)! })).catch(
          () => 'named',
        ),
      ).toBe('named')
      expect(one.calls.slice(calls)).toEqual(['POST /files'])
      expect((await asked('/v1/batches', json({ ...body, custom_llm_provider: 'openai' })))[0]).toBe(200)
    })

    test("a batch's metadata are bounded as those of other objects: the built-in models keep them in memory", async () => {
      for (const metadata of [
        { a: 'x'.repeat(513) },
        Object.fromEntries(Array.from({ length: 17 }, (_, at) => [at, ''])),
      ]) {
        const answer = await fetch(`${gateway.url}/v1/batches`, {
          method: 'POST',
          headers: { authorization: `Bearer ${await gateway.key()}`, 'content-type': 'application/json' },
          body: JSON.stringify({ input_file_id: 'file-1', endpoint: '/v1/chat/completions', metadata }),
        })
        expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('metadata')])
      }
    })

    test('an answer from before the end that comes after it hides nothing', async () => {
      const batch = await startBatch()
      const early = { ...[...one.batches.values()].at(-1)!, status: 'in_progress' }
      const held = Promise.withResolvers<void>()
      let arrived = false
      one.instead.set('GET /batches/batch_ID', async () => {
        arrived = true
        await held.promise
        return Response.json(early)
      })
      const slow = asked(`/v1/batches/${batch.id}`)
      await until(() => arrived, 'the slow call arrives')
      one.instead.clear()
      one.complete()
      expect((await asked(`/v1/batches/${batch.id}`))[1].status).toBe('completed')
      held.resolve()
      expect((await slow)[1].status).toBe('in_progress')
      for (let round = 0; round < 2; round++)
        expect((await asked('/v1/batches'))[1].data).toMatchObject([{ id: batch.id, status: 'completed' }])
      expect((await rowsOf(batch)).length).toBe(1)
    })

    test('a batch whose files were deleted still names them, and brings none back', async () => {
      const batch = await startBatch()
      one.complete({ error_file_id: '' })
      const [, done] = await asked(`/v1/batches/${batch.id}`)
      for (const id of [done.input_file_id, done.output_file_id])
        expect((await asked(`/v1/files/${id}`, { method: 'DELETE' }))[0]).toBe(200)
      expect((await asked(`/v1/batches/${batch.id}`))[1]).toEqual(done)
      expect((await asked('/v1/files'))[1].data).toEqual([])
      expect((await asked(`/v1/files/${done.output_file_id}/content`))[0]).toBe(404)
      expect(
        (await asked('/v1/batches', json({ input_file_id: done.input_file_id, endpoint: '/v1/chat/completions' })))[0],
      ).toBe(404)
    })

    test('a key that lost a model cannot start a batch with it any more', async () => {
      const [, file] = await send(linesOf('large'))
      expect((await gateway.admin('/key/update', { key, models: ['small'] })).status).toBe(200)
      const body = json({ input_file_id: file.id, endpoint: '/v1/chat/completions' })
      expect(await asked('/v1/batches', body)).toMatchObject([403, { error: { param: 'input_file_id' } }])
    })

    // ---- whose it is

    test("another key's files and batches are not there; the master key sees all", async () => {
      const batch = await startBatch()
      const stranger = await gateway.key()
      const calls = one.calls.length
      const file = { id: batch.input_file_id as string }
      const paths = [
        ['GET', `/files/${file.id}`],
        ['GET', `/files/${file.id}/content`],
        ['DELETE', `/files/${file.id}`],
        ['GET', `/batches/${batch.id}`],
        ['POST', `/batches/${batch.id}/cancel`],
      ] as const
      for (const [method, path] of paths) expect((await asked(`/v1${path}`, { method }, stranger))[0]).toBe(404)
      expect(
        (await asked('/v1/batches', json({ input_file_id: file.id, endpoint: '/v1/chat/completions' }), stranger))[0],
      ).toBe(404)
      for (const kind of ['files', 'batches']) {
        expect((await asked(`/v1/${kind}`, {}, stranger))[1].data).toEqual([])
        expect((await asked(`/v1/${kind}?after=${kind === 'files' ? file.id : batch.id}`, {}, stranger))[0]).toBe(422)
      }
      expect(one.calls.length).toBe(calls)
      expect((await asked(`/v1/batches/${batch.id}`, {}, masterKey))[1].id).toBe(batch.id)
      expect((await asked('/v1/files', {}, masterKey))[1].data.map((one: Json) => one.id)).toContain(file.id)
      // What the master key sees first still belongs to the key that ran it.
      one.complete()
      const [, done] = await asked(`/v1/batches/${batch.id}`, {}, masterKey)
      expect((await asked(`/v1/files/${done.output_file_id}`))[0]).toBe(200)
      expect(await rowsOf(batch)).toMatchObject([{ user_id: 'u' }])
    })

    test('a file whose upstream left the configuration is 409, and its batches still stand in the list', async () => {
      const leaver = await gateway.key({ models: ['leaving', 'small'] })
      const [, file] = await send(linesOf('leaving'), { model: 'leaving' }, leaver)
      const [, batch] = await asked(
        '/v1/batches',
        json({ input_file_id: file.id, endpoint: '/v1/chat/completions' }),
        leaver,
      )
      writeFileSync(gateway.configFile, config(one.url, two.url, false))
      expect((await gateway.server.reload()).applied).toBe(true)
      try {
        for (const path of [`/files/${file.id}`, `/files/${file.id}/content`, `/batches/${batch.id}`])
          expect(await asked(`/v1${path}`, {}, leaver)).toMatchObject([
            409,
            { error: { message: expect.stringContaining("'leaving-deployment'") } },
          ])
        expect((await asked('/v1/batches', {}, leaver))[1].data).toMatchObject([{ id: batch.id, status: 'validating' }])
      } finally {
        writeFileSync(gateway.configFile, config(one.url, two.url))
        await gateway.server.reload()
      }
      expect((await asked(`/v1/files/${file.id}`, {}, leaver))[0]).toBe(200)
    })

    test('the requests of a key are limited, a download for as long as it lasts', async () => {
      const limited = await gateway.key({ models: ['small'], rpm_limit: 3, max_parallel_requests: 1 })
      const [, file] = await send('x', { purpose: 'user_data' }, limited)
      let end = () => {}
      one.instead.set(
        'GET /files/file-ID/content',
        () =>
          new Response(
            new ReadableStream({
              start(controller) {
                controller.enqueue(Buffer.from('some'))
                end = () => controller.close()
              },
            }),
          ),
      )
      const download = await call(`/v1/files/${file.id}/content`, {}, limited)
      expect(download.headers.get('x-ratelimit-limit-requests')).toBe('3')
      expect((await asked(`/v1/files/${file.id}`, {}, limited))[0]).toBe(429)
      end()
      expect(await download.text()).toBe('some')
      expect((await asked(`/v1/files/${file.id}`, {}, limited))[0]).toBe(200)
      const over = await call(`/v1/files/${file.id}`, {}, limited)
      expect([over.status, over.headers.has('retry-after')]).toEqual([429, true])
      await over.text()
    })

    // ---- upstreams that fail

    test("an upstream's failure has its status, and our ids in its words", async () => {
      const batch = await startBatch()
      const failing = async (status: number) => {
        one.instead.set('GET /batches/batch_ID', () =>
          Response.json(
            { error: { message: `bad ${[...one.batches.keys()].at(-1)}: upstream-key-canary-1` } },
            { status },
          ),
        )
        return asked(`/v1/batches/${batch.id}`)
      }
      expect(await failing(400)).toMatchObject([400, { error: { message: `bad ${batch.id}: [redacted]` } }])
      expect(await failing(409)).toMatchObject([409, {}])
      expect(await failing(500)).toMatchObject([500, { error: { message: `bad ${batch.id}: [redacted]` } }])
      expect((await failing(401))[0]).toBe(502)
      expect((await failing(429))[0]).toBe(429)
      expect((await asked('/v1/batches'))[1].data).toMatchObject([{ id: batch.id, status: 'validating' }])
      for (const body of [
        '<html>',
        '[]',
        'null',
        '',
        `{"a":${'['.repeat(100_000)}`,
        '{"output_file_id":".."}',
        '{"output_file_id":7}',
      ]) {
        one.instead.set('GET /batches/batch_ID', () => new Response(body))
        expect((await asked(`/v1/batches/${batch.id}`))[0]).toBe(502)
      }
      // What has ended is billed, also when its files cannot be shown.
      const ended = { status: 'COMPLETED', output_file_id: '..', usage: { input_tokens: 7, output_tokens: 5 } }
      one.instead.set('GET /batches/batch_ID', () => Response.json(ended))
      for (let time = 0; time < 2; time++) expect((await asked(`/v1/batches/${batch.id}`))[0]).toBe(502)
      const settled = (await gateway.rows()).filter(row => row.operation === 'batches' && row.input_tokens === 7)
      expect(settled).toMatchObject([{ outcome: 'success', input_tokens: 7, output_tokens: 5 }])
      const upload = async (answer: Answer) => {
        one.instead.set('POST /files', answer)
        return send(linesOf('small'))
      }
      expect(await upload(() => Response.json({ error: 'no route' }, { status: 404 }))).toMatchObject([
        404,
        { error: { message: 'the upstream takes no files: no route', code: null } },
      ])
      for (const id of [undefined, 7, '', '..', 'a b', 'é\0'])
        expect((await upload(() => Response.json({ object: 'file', id })))[0]).toBe(502)
      expect((await upload(() => Response.json({ error: {} }, { status: 503 })))[0]).toBe(503)
      expect((await asked('/v1/files'))[1].data.length).toBe(1)
    })

    test.each(['content-length: 100000', 'transfer-encoding: chunked'])(
      'a download that is cut is cut for the client, too: %s',
      async framing => {
        const raw = await rawUpstream({
          onRequest(peer, request) {
            if (request.startsWith('POST'))
              return void peer.socket.write(answer(JSON.stringify({ id: 'file-UPID0x', bytes: 1 })))
            peer.socket.write(
              `HTTP/1.1 200 OK\r\n${framing}\r\n\r\n${framing.endsWith('chunked') ? '4\r\nsome\r\n' : 'some'}`,
            )
            setTimeout(() => peer.socket.end(), 30)
          },
        })
        const added = `model_list:\n  - model_name: cutting\n    proxy_params: { model: custom_openai/x, api_base: "${raw.url}/v1" }`
        try {
          writeFileSync(gateway.configFile, config(one.url, two.url).replace('model_list:', added))
          expect((await gateway.server.reload()).applied).toBe(true)
          const [, file] = await send('x', { purpose: 'user_data', model: 'cutting' }, masterKey)
          const response = await call(`/v1/files/${file.id}/content`, {}, masterKey)
          expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
          await expect(response.bytes()).rejects.toThrow()
        } finally {
          writeFileSync(gateway.configFile, config(one.url, two.url))
          await gateway.server.reload()
          raw.stop()
        }
      },
    )

    test('a download goes at the pace of the client, and its leaving closes the upstream', async () => {
      const [, file] = await send('x', { purpose: 'user_data' })
      let made = 0
      let cancelled = false
      one.instead.set(
        'GET /files/file-ID/content',
        () =>
          new Response(
            new ReadableStream({
              pull(controller) {
                made += 65_536
                controller.enqueue(new Uint8Array(65_536))
              },
              cancel: () => void (cancelled = true),
            }),
          ),
      )
      const response = await call(`/v1/files/${file.id}/content`)
      const reader = response.body!.getReader()
      await reader.read()
      // What the sockets between the three hold is all that is made ahead, however long the client waits.
      for (let before = 0; made > before; await Bun.sleep(500)) {
        expect(made).toBeLessThan(64_000_000)
        before = made
      }
      await reader.cancel()
      await until(() => cancelled, 'the upstream is closed')
    })

    // ---- clients that leave

    test('a client that leaves while the upstream works closes it, and no file stays behind', async () => {
      let arrived = false
      one.instead.set('POST /files', () => {
        arrived = true
        return new Promise<Response>(() => {})
      })
      const closed = one.closed
      const leaving = new AbortController()
      const left = call('/v1/files', { method: 'POST', body: form(linesOf('small')), signal: leaving.signal }).catch(
        () => 'left',
      )
      await until(() => arrived, 'the upload arrives')
      leaving.abort()
      expect(await left).toBe('left')
      await until(() => one.closed > closed, 'the upstream is closed')
      expect((await asked('/v1/files'))[1].data).toEqual([])
    })

    test('a client that leaves in the middle of the body never reaches the upstream', async () => {
      const calls = one.calls.length
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
      socket.write(
        `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 9000000\r\n\r\n`,
      )
      socket.write(`--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n${'x'.repeat(600_000)}`)
      await Bun.sleep(100)
      socket.destroy()
      await Bun.sleep(100)
      expect(one.calls.length).toBe(calls)
      expect((await asked('/v1/files'))[1].data).toEqual([])
    })

    test('a batch that was started is known, also when the client did not wait for the answer', async () => {
      const [, file] = await send(linesOf('small'))
      let go = () => {}
      const held = new Promise<void>(resolve => (go = resolve))
      let arrived = false
      one.instead.set('POST /batches', async () => {
        arrived = true
        await held
        const id = one.newId('batch_')
        one.batches.set(id, { id, object: 'batch', status: 'validating', input_file_id: [...one.files.keys()].at(-1) })
        return Response.json(one.batches.get(id))
      })
      const leaving = new AbortController()
      const left = call('/v1/batches', {
        ...json({ input_file_id: file.id, endpoint: '/v1/chat/completions' }),
        signal: leaving.signal,
      }).catch(() => 'left')
      await until(() => arrived, 'the call arrives')
      leaving.abort()
      expect(await left).toBe('left')
      go()
      const listed = await until(async () => {
        const batches = (await asked('/v1/batches'))[1].data as Json[]
        return batches.length > 0 && batches
      }, 'the batch is listed')
      expect(listed).toMatchObject([{ object: 'batch', input_file_id: file.id }])
    })

    // ---- several replicas

    test.skipIf(backend.name === 'SQLite')(
      'replicas that see the end of one batch at once write one row and give its files one id',
      async () => {
        const second = await start()
        try {
          const batch = await startBatch()
          one.complete()
          const urls = [gateway.url, second.url, gateway.url, second.url]
          const seen = await Promise.all(urls.map(url => clientOf(key, url).batches.retrieve(batch.id)))
          expect(new Set(seen.map(one => `${one.output_file_id} ${one.error_file_id}`)).size).toBe(1)
          expect(await (await clientOf(key, second.url).files.content(seen[0]!.output_file_id!)).text()).toStartWith(
            '{"custom_id":"one"',
          )
          await second.rows()
          expect((await rowsOf(batch)).length).toBe(1)
        } finally {
          await second.stop()
        }
        expect(
          (await gateway.rows()).filter(row => row.operation === 'batches' && row.model === 'small').length,
        ).toBeGreaterThan(0)
      },
    )

    test.skipIf(backend.name !== 'SQLite')('what cannot be kept here is taken back at the upstream', async () => {
      const [, file] = await send(linesOf('small'))
      const rename = (from: string, to: string) => {
        const database = new Database(join(gateway.dataDirectory, 'modelgate.sqlite'))
        database.run('pragma busy_timeout = 2000')
        database.run(`alter table ${from} rename to ${to}`)
        database.close()
      }
      for (const [path, options, undone] of [
        ['/files', { method: 'POST', body: form(linesOf('small')) }, 'DELETE /files/file-UPID'],
        ['/batches', json({ input_file_id: file.id, endpoint: '/v1/chat/completions' }), 'POST /batches/batch_UPID'],
      ] as const) {
        one.instead.set(`POST ${path}`, () => {
          rename('upstream_files', 'away')
          return Response.json({ id: one.newId(path === '/files' ? 'file-' : 'batch_') })
        })
        try {
          expect((await asked(`/v1${path}`, options))[0]).toBe(503)
        } finally {
          rename('away', 'upstream_files')
        }
        expect(one.calls.at(-1)).toStartWith(undone)
      }
      expect((await asked('/v1/files'))[1].data.length).toBe(1)
    })
  })

/** In a process of its own, so that its memory is the gateway's alone. */
test('eight files of twenty megabytes at once go through the disk, not through memory', async () => {
  const uploads = 8
  const linesEach = 1000
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-large-'))
  /** SHA-256 of the lines of each body; the bytes themselves are let go. */
  const hashes: string[] = []
  let arrived = 0
  const gate = Promise.withResolvers<void>()
  const upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: 1e9,
    async fetch(request) {
      // All are on the disk before the first goes on.
      if (++arrived === uploads) gate.resolve()
      await gate.promise
      const lines = createHash('sha256')
      let tail = ''
      for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) {
        tail += Buffer.from(piece).toString('latin1')
        const end = tail.lastIndexOf('\n') + 1
        for (const one of tail.slice(0, end).split('\n')) if (one.startsWith('{')) lines.update(`${one}\n`)
        tail = tail.slice(end)
      }
      hashes.push(lines.digest('hex'))
      return Response.json({ id: `file-${hashes.length}`, object: 'file', bytes: 20_000_000 })
    },
  })
  writeFileSync(
    join(folder, 'config.yaml'),
    `model_list:
  - model_name: small
    proxy_params: { model: custom_openai/up-small, api_base: "http://127.0.0.1:${upstream.port}/v1" }
`,
  )
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  const child = Bun.spawn(
    [
      process.execPath,
      gatewayProgram,
      'serve',
      '--config',
      join(folder, 'config.yaml'),
      '--port',
      String(port),
      '--data-dir',
      join(folder, 'data'),
    ],
    {
      stdout: 'ignore',
      stderr: 'ignore',
      env: {
        ...process.env,
        MODELGATE_MASTER_KEY: masterKey,
        DATABASE_URL: '',
        REDIS_URL: '',
        MODELGATE_DISCOVER: '0',
      },
    },
  )
  try {
    await waitFor(`http://127.0.0.1:${port}/health/liveliness`)
    const text = 'y'.repeat(20_000)
    const made = (model: string) =>
      Array.from({ length: linesEach }, (_, at) => `${line(`line-${at}`, model, { note: text })}\n`).join('')
    const file = new File([made('small')], 'x.jsonl')
    const before = memoryMb([child.pid], 'now')
    resetPeak([child.pid])
    const answers = await Promise.all(
      Array.from({ length: uploads }, async () => {
        const body = new FormData()
        body.append('purpose', 'batch')
        body.append('file', file)
        const response = await fetch(`http://127.0.0.1:${port}/v1/files`, {
          method: 'POST',
          body,
          headers: { authorization: `Bearer ${masterKey}` },
        })
        return [response.status, ((await response.json()) as Json).object]
      }),
    )
    const grown = memoryMb([child.pid], 'peak') - before
    expect(answers).toEqual(Array.from({ length: uploads }, () => [200, 'file']))
    const whole = createHash('sha256').update(made('up-small')).digest('hex')
    expect(hashes).toEqual(Array.from({ length: uploads }, () => whole))
    // Together they are 160 MB, and twice that with what is sent.
    expect(grown).toBeLessThan(130)
  } finally {
    child.kill('SIGTERM')
    await child.exited
    await upstream.stop(true)
    rmSync(folder, { recursive: true, force: true })
  }
})
