/** Uploaded files that calls name, through a whole gateway and OpenAI's own client, to the simulator. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const config = `
model_list:
  - model_name: reader
    proxy_params: { model: openai/sim-reader, api_base: "{simulator}/v1", api_key: upstream-key-canary-1 }
    model_info: { id: reader-one }
  - model_name: reader
    proxy_params: { model: openai/sim-reader, api_base: "{simulator}/v1", api_key: upstream-key-canary-2 }
    model_info: { id: reader-two }
  - model_name: elsewhere
    proxy_params: { model: openai/sim-elsewhere, api_base: "{simulator}/v1", api_key: upstream-key-canary-2 }
  - model_name: plain
    proxy_params: { model: custom_openai/sim-plain, api_base: "{simulator}/v1", api_key: upstream-key-canary-3 }
  - model_name: claude
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: upstream-key-canary-4 }
  - model_name: "unsteady/*"
    proxy_params: { model: "openai/*", api_base: "{simulator}/v1", api_key: upstream-key-canary-1 }
    model_info: { id: unsteady }
  - model_name: twin
    proxy_params: { model: openai/sim-twin, api_base: "{simulator}/v1", api_key: upstream-key-canary-1 }
router_settings: { num_retries: 0 }
`
const pdf = Buffer.from('%PDF-1.7\n%\xe2\xe3\n1 0 obj', 'latin1')
const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')

let gateway: Gateway
let key: string
let client: OpenAI

beforeAll(async () => {
  gateway = await startGateway({ config })
})
beforeEach(async () => {
  gateway.simulator.reset()
  key = await gateway.key()
  client = clientOf(key)
})
afterAll(() => gateway.stop())

const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
const upload = (
  bytes: Buffer,
  name: string,
  purpose: 'user_data' | 'vision' | 'batch' = 'user_data',
  model = 'reader',
) => toFile(bytes, name).then(file => client.files.create({ file, purpose }, { query: { model } }))
/** The simulator's own id of what was uploaded last. */
const idThere = async () =>
  (((await (await fetch(`${gateway.simulator.url}/v1/files`)).json()) as Json).data as Json[])[0]!.id as string
/** The bodies of calls that the simulator got; none of ours may stand in them. */
const sent = () => {
  const bodies = gateway.simulator.truth.entries
    .filter(entry => entry.method === 'POST' && !entry.path.endsWith('/files'))
    .map(entry => entry.body as Json)
  expect(JSON.stringify(bodies)).not.toMatch(/file-[0-9a-f]{32}/)
  return bodies
}
const asked = async (path: string, body: Json, caller = key): Promise<[number, Json]> => {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller}` },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  expect(text).not.toContain('upstream-key')
  return [response.status, JSON.parse(text) as Json]
}
const named = (file_id: string) => ({ type: 'file' as const, file: { file_id } })
const chatOf = (model: string, ...parts: Json[]): any => ({
  model,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'say: read' }, ...parts] }],
})
const chat = (model: string, ...parts: Json[]) => asked('/v1/chat/completions', chatOf(model, ...parts))

test("a file that OpenAI's client uploads is read by its own id, at the only account that has it", async () => {
  const file = await upload(pdf, 'a.pdf')
  const there = await idThere()
  expect(there).not.toBe(file.id)
  for (let call = 0; call < 8; call++) {
    const { data, response } = await client.chat.completions.create(chatOf('reader', named(file.id))).withResponse()
    expect([data.choices[0]!.message.content, response.headers.get('x-proxy-model-id')]).toEqual(['read', 'reader-one'])
  }
  const stream = await client.chat.completions.create({ ...chatOf('twin', named(file.id)), stream: true })
  let text = ''
  for await (const chunk of stream as any) text += chunk.choices[0]?.delta.content ?? ''
  expect(text).toBe('read')
  expect(sent().map(body => body.messages[0].content[1])).toEqual(Array(9).fill(named(there)))
  // The master key sees the files of all keys.
  expect((await asked('/v1/chat/completions', chatOf('reader', named(file.id)), masterKey))[0]).toBe(200)
})

test('Responses keep our ids in what they store and continue with them; pictures go by their id, too', async () => {
  const document = await upload(pdf, 'a.pdf')
  const documentThere = await idThere()
  const picture = await upload(png, 'a.png', 'vision')
  const pictureThere = await idThere()
  const content = [
    { type: 'input_text' as const, text: 'say: one' },
    { type: 'input_file' as const, file_id: document.id },
    { type: 'input_image' as const, file_id: picture.id, detail: 'low' as const },
  ]
  const first = await client.responses.create({ model: 'reader', input: [{ role: 'user', content }] })
  const second = await client.responses.create({ model: 'reader', input: 'say: two', previous_response_id: first.id })
  expect([first.output_text, second.output_text]).toEqual(['one', 'two'])
  const there = [content[0]!, { ...content[1]!, file_id: documentThere }, { ...content[2]!, file_id: pictureThere }]
  expect(sent().map(body => body.input[0].content)).toEqual([there, there])
  expect((await client.responses.inputItems.list(first.id)).data[0]).toMatchObject({
    content: [{}, { file_id: document.id }, { file_id: picture.id }],
  })
})

test("Claude's words name a file for any dialect; what is said in texts, calls and metadata stays", async () => {
  const file = await upload(pdf, 'a.pdf')
  const there = await idThere()
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
  const messages: any = [
    {
      role: 'user',
      content: [
        { type: 'document', title: 'A', source: { type: 'file', file_id: file.id } },
        { type: 'text', text: 'say: yes' },
      ],
    },
  ]
  const answer = await anthropic.messages.create({ model: 'reader', max_tokens: 10, messages })
  expect(answer.content).toMatchObject([{ text: 'yes' }])
  expect(sent().at(-1)!.messages[0].content[0]).toEqual(named(there))

  const calls = [
    { id: 'call_1', type: 'function', function: { name: 'open', arguments: JSON.stringify({ file_id: file.id }) } },
  ]
  const body = { ...chatOf('reader', named(file.id)), metadata: { file_id: file.id } }
  body.messages.push(
    { role: 'assistant', tool_calls: calls },
    { role: 'tool', tool_call_id: 'call_1', content: file.id },
    { role: 'user', content: `say: ${file.id}` },
  )
  const [status, { choices }] = await asked('/v1/chat/completions', body)
  expect([status, choices[0].message.content]).toEqual([200, file.id])
  const got = gateway.simulator.truth.last()!.body as Json
  expect(got.messages.slice(1)).toEqual(body.messages.slice(1))
  expect([got.messages[0].content[1], got.metadata]).toEqual([named(there), body.metadata])
})

test("another key's id and one that never was are refused alike; the operator may name a vendor's own", async () => {
  const file = await upload(pdf, 'a.pdf')
  const stranger = await gateway.key()
  const never = `${file.id.slice(0, -4)}0000`
  const [[status, theirs], [, nobodys]] = await Promise.all([
    asked('/v1/chat/completions', chatOf('reader', named(file.id)), stranger),
    asked('/v1/chat/completions', chatOf('reader', named(never)), stranger),
  ])
  expect([status, theirs.error.param]).toEqual([422, 'messages.0.content.1.file.file_id'])
  expect(theirs.error.message).toContain(`this key has no file '${file.id}'`)
  expect(theirs.error.message.replaceAll(file.id, never)).toBe(nobodys.error.message)
  const [claudeStatus, claude] = await asked(
    '/v1/messages',
    {
      model: 'reader',
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: file.id } }] }],
    },
    stranger,
  )
  expect([claudeStatus, claude.error.message]).toEqual([
    422,
    expect.stringContaining('messages.0.content.0.source.file_id'),
  ])
  expect(sent()).toEqual([])

  const own = ['file-6F2ksmvXxt4VdoqmHRw6kL', 'file-9f4c5e8ab1fa4f4e9d5e5b3b5b5f5f5f']
  for (const id of own)
    expect((await asked('/v1/chat/completions', chatOf('elsewhere', named(id)), masterKey))[0]).toBe(200)
  expect(
    gateway.simulator.truth.entries.slice(-2).map(entry => (entry.body as Json).messages[0].content[1].file.file_id),
  ).toEqual(own)
})

test('a model without the file gets its content, where the upstream hands it out', async () => {
  const notes = await upload(Buffer.from('Grüße'), 'notes.txt', 'batch', 'plain').catch(error => error)
  // A batch has lines of JSON; any other file has another purpose.
  expect(notes.status).toBe(400)
  const picture = await upload(png, 'a.png', 'vision', 'plain')
  const url = `data:image/png;base64,${png.toString('base64')}`
  expect((await chat('elsewhere', named(picture.id)))[0]).toBe(200)
  expect(sent().at(-1)!.messages[0].content[1]).toEqual({ type: 'image_url', image_url: { url } })
  // At home a translated dialect has no word for a picture's id.
  for (const model of ['plain', 'elsewhere'])
    expect(
      (
        await asked('/v1/responses', {
          model,
          input: [{ role: 'user', content: [{ type: 'input_image', file_id: picture.id }] }],
        })
      )[0],
    ).toBe(200)
  const [home, other] = sent().slice(-2)
  expect([home!.messages[0].content, other!.input[0].content]).toEqual([
    [{ type: 'image_url', image_url: { url } }],
    [{ type: 'input_image', image_url: url }],
  ])
  expect((await chat('claude', named(picture.id)))[0]).toBe(200)
  expect(sent().at(-1)!.messages[0].content[1]).toEqual({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') },
  })
})

test('a file of the built-in models travels to any other, until it is gone', async () => {
  const text = await upload(Buffer.from('# Grüße\n'), 'notes.md', 'user_data', 'local/simulated-chat')
  const document = await upload(pdf, 'ä.pdf', 'user_data', 'local/simulated-chat')
  expect((await chat('local/simulated-chat', named(document.id)))[0]).toBe(200)
  expect((await chat('reader', named(document.id), named(text.id)))[0]).toBe(200)
  const [, one, two] = sent().at(-1)!.messages[0].content
  expect(one).toEqual({
    type: 'file',
    file: { filename: 'ä.pdf', file_data: `data:application/pdf;base64,${pdf.toString('base64')}` },
  })
  expect(two.file).toEqual({
    filename: 'notes.md',
    file_data: `data:text/markdown;base64,${Buffer.from('# Grüße\n').toString('base64')}`,
  })
  const content = [
    { type: 'document', source: { type: 'file', file_id: text.id }, cache_control: { type: 'ephemeral' } },
  ]
  expect(
    (await asked('/v1/messages', { model: 'claude', max_tokens: 9, messages: [{ role: 'user', content }] }))[0],
  ).toBe(200)
  expect(sent().at(-1)!.messages[0].content).toEqual([
    {
      title: 'notes.md',
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: '# Grüße\n' },
      cache_control: { type: 'ephemeral' },
    },
  ])
  const [status, body] = await asked('/v1/responses', {
    model: 'reader',
    input: [{ role: 'user', content: [{ type: 'input_image', file_id: document.id }] }],
  })
  expect([status, body.error.message]).toEqual([422, expect.stringContaining('is application/pdf, and no picture')])
  await client.files.delete(document.id)
  expect((await chat('reader', named(document.id)))[0]).toBe(422)
})

test('what nobody hands out is refused with the way out, and nothing is sent', async () => {
  const file = await upload(pdf, 'a.pdf')
  const there = await idThere()
  const calls = sent().length
  const [status, { error }] = await chat('elsewhere', named(file.id))
  expect([status, error.param, error.message]).toEqual([
    422,
    'messages.0.content.1.file.file_id',
    `messages.0.content.1.file.file_id: the file '${file.id}' is kept by the upstream of the model 'reader' (openai), not by that of 'elsewhere', and its content is not handed out there; upload it with \`model\`: 'elsewhere', or call 'reader', or send its content as \`file_data\``,
  ])
  const [, claude] = await chat('claude', named(file.id))
  expect(claude.error.message).toEndWith("; call 'reader', or send its content as `file_data`")
  const tools = [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [file.id] } }]
  const [, hosted] = await asked('/v1/responses', { model: 'elsewhere', input: 'x', tools })
  expect(hosted.error.message).toContain("tools.0.container.file_ids.0: the file '")
  expect(hosted.error.message).toEndWith(
    "only an id will do here; upload it with `model`: 'elsewhere', or call 'reader'",
  )
  expect(sent().length).toBe(calls)
  expect((await asked('/v1/responses', { model: 'twin', input: 'say: x', tools }))[0]).toBe(200)
  expect(sent().at(-1)!.tools[0].container.file_ids).toEqual([there])
  // The vendor repeats them in its answers.
  const repeated = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'sim-twin',
    output: [],
    tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [there] } }],
    metadata: { é: there },
  }
  gateway.simulator.script(
    { model: 'sim-twin' },
    { raw: { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(repeated) } },
  )
  const [, reported] = await asked('/v1/responses', { model: 'twin', input: 'say: x', tools })
  expect([reported.tools, reported.metadata]).toEqual([tools, { é: file.id }])
  const events = ['created', 'completed']
    .map(
      name => `event: response.${name}\ndata: ${JSON.stringify({ type: `response.${name}`, response: repeated })}\n\n`,
    )
    .join('')
  gateway.simulator.script(
    { model: 'sim-twin' },
    { raw: { status: 200, headers: { 'content-type': 'text/event-stream' }, body: events } },
  )
  const streamed = await (
    await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'twin', input: 'x', tools, stream: true }),
    })
  ).text()
  expect([streamed.includes(there), streamed.split(file.id).length, streamed.includes('response.completed')]).toEqual([
    false,
    5,
    true,
  ])
})

test('fallbacks are only models that can be given the file; errors speak of our id', async () => {
  const file = await upload(pdf, 'a.pdf')
  const there = await idThere()
  const broken = 'unsteady/sim#status;code=500'
  const [status, answer] = await asked('/v1/chat/completions', {
    ...chatOf(broken, named(file.id)),
    fallbacks: ['elsewhere', 'claude', 'twin'],
  })
  expect([status, answer.model]).toEqual([200, broken])
  expect(sent().map(body => [body.model, body.messages[0].content[1].file.file_id])).toEqual([
    ['sim#status;code=500', there],
    ['sim-twin', there],
  ])
  expect(
    (await asked('/v1/chat/completions', { ...chatOf(broken, named(file.id)), fallbacks: ['elsewhere'] }))[0],
  ).toBe(500)
  gateway.simulator.script(
    { model: 'sim-twin' },
    {
      raw: {
        status: 400,
        body: JSON.stringify({ error: { message: `The file ${there} has expired`, type: 'invalid_request_error' } }),
      },
    },
  )
  expect(await chat('twin', named(file.id))).toMatchObject([
    400,
    { error: { message: `The file ${file.id} has expired` } },
  ])
})

test('a preview shows the call with the id hidden; counts and large bodies work, too', async () => {
  const file = await upload(pdf, 'a.pdf')
  const there = await idThere()
  const [, preview] = await asked('/utils/transform_request', {
    call_type: 'completion',
    request_body: chatOf('reader', named(file.id)),
  })
  expect(preview.raw_request_body.messages[0].content[1]).toEqual(named('[redacted]'))
  const [, refused] = await asked('/utils/transform_request', {
    call_type: 'completion',
    request_body: chatOf('elsewhere', named(file.id)),
  })
  expect(refused.error).toContain('is not handed out there')
  // An estimate fetches no file.
  const input = [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }]
  expect(await asked('/v1/responses/input_tokens', { model: 'plain', input })).toMatchObject([
    200,
    { input_tokens: expect.any(Number) },
  ])
  const picture = await upload(png, 'a.png', 'vision')
  const messages = [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: picture.id } }] }]
  expect((await asked('/v1/messages/count_tokens', { model: 'claude', messages }))[0]).toBe(200)
  expect(sent().at(-1)!.messages[0].content[0].source).toEqual({
    type: 'base64',
    media_type: 'image/png',
    data: png.toString('base64'),
  })
  const long = 'x'.repeat(400_000)
  expect((await chat('reader', { type: 'text', text: long }, named(file.id)))[0]).toBe(200)
  expect(sent().at(-1)!.messages[0].content.slice(1)).toEqual([{ type: 'text', text: long }, named(there)])
})

test('how its deployment is reached and used may change: a file is still there, for calls that name it, too', async () => {
  const file = await upload(pdf, 'a.pdf', 'user_data', 'elsewhere')
  const there = await idThere()
  const before = readFileSync(gateway.configFile, 'utf8')
  try {
    for (const change of ['timeout: 50', 'proxy: false, weight: 3']) {
      writeFileSync(gateway.configFile, before.replace('openai/sim-elsewhere,', `openai/sim-elsewhere, ${change},`))
      expect(await gateway.server.reload()).toMatchObject({ applied: true })
      expect((await client.files.retrieve(file.id)).id).toBe(file.id)
      expect((await chat('elsewhere', named(file.id)))[0]).toBe(200)
      expect(sent().at(-1)!.messages[0].content[1].file).toEqual({ file_id: there })
    }
  } finally {
    writeFileSync(gateway.configFile, before)
    expect(await gateway.server.reload()).toMatchObject({ applied: true })
  }
})
