/** Policies that change requests: chats at every provider, forms, lines of batches, and calls that name files. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Policy } from '../../src/core/policy.ts'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { matrixConfig as providersConfig, providerRows } from '../sdk/matrix/providers.ts'
import { addSystemLine } from './add-system-line.ts'
import { clientDialects } from './client-dialects.ts'
import { BatchUpstream, matrixConfig } from './matrix-config.ts'

type Json = Record<string, any>

const line = 'Speak of tea only.'

/** Changes fields of forms, and the text of embeddings. */
const changeFields: Policy = {
  name: 'change-fields',
  stage: 'body',
  admit(call) {
    if (call.operation !== 'transcriptions' && call.operation !== 'embeddings') return
    call.change(input => {
      if (input.kind === 'embeddings') input.request.inputs = input.request.inputs.map(one => `${String(one)}!`)
      if (input.kind !== 'form') return
      input.fields.prompt = `${String(input.fields.prompt)}, changed`
      input.fields.temperature = 0
      delete input.fields.language
    })
  },
}

let providers: Gateway
let gateway: Gateway
const batches = new BatchUpstream()

beforeAll(async () => {
  providers = await startGateway({ config: providersConfig(), policies: [addSystemLine(line)] })
  gateway = await startGateway({ config: matrixConfig(batches.url), policies: [addSystemLine(line), changeFields] })
})
afterAll(async () => {
  await providers?.stop()
  await gateway?.stop()
  await batches.stop()
})
beforeEach(() => {
  providers.simulator.reset()
  gateway.simulator.reset()
})

const post = (at: Gateway, path: string, body: Json | FormData): Promise<Response> =>
  fetch(`${at.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: body instanceof FormData ? body : JSON.stringify(body),
  })

const sentBy = (at: Gateway): Json => at.simulator.truth.entries.at(-1)!.body as Json

/** A chat with a system prompt, and one without, in the fewest words of each dialect. */
const chats: Record<string, [(model: string) => Json, (model: string) => Json]> = {
  chat: [
    model => ({
      model,
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'Hi' },
      ],
    }),
    model => ({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  ],
  responses: [model => ({ model, instructions: 'Be short.', input: 'Hi' }), model => ({ model, input: 'Hi' })],
  messages: [
    model => ({ model, max_tokens: 50, system: 'Be short.', messages: [{ role: 'user', content: 'Hi' }] }),
    model => ({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }),
  ],
  'gemini events': [
    () => ({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: 'Be short.' }] },
    }),
    () => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }),
  ],
}
chats.cursor = chats.chat!

describe('a line before the system prompt reaches', () => {
  for (const { name } of providerRows)
    for (const [dialect, bodies] of Object.entries(chats))
      test(`${name} from ${dialect}`, async () => {
        for (const [at, bodyOf] of bodies.entries())
          for (const stream of [false, true]) {
            const isGemini = dialect.startsWith('gemini')
            const body = { ...bodyOf(name), ...(!isGemini && stream && { stream }) }
            const response = await post(providers, clientDialects[dialect]!.path(name, stream), body)
            const text = await response.text()
            expect([response.status, text.slice(0, 300)]).toEqual([200, text.slice(0, 300)])
            const sent = JSON.stringify(sentBy(providers))
            expect(sent.split(line)).toHaveLength(2)
            if (at === 0) expect(sent.indexOf('Be short.')).toBeGreaterThan(sent.indexOf(line))
          }
      })
})

test('the fields of a form are changed, added and removed; its file stays', async () => {
  const form = new FormData()
  for (const [name, value] of Object.entries({ model: 'hear', prompt: 'names', language: 'de' }))
    form.append(name, value)
  const bytes = crypto.getRandomValues(new Uint8Array(3000))
  form.append('file', new File([bytes], 'a.wav'))
  const response = await post(gateway, '/v1/audio/transcriptions', form)
  expect(response.status).toBe(200)
  const { prompt, temperature, language, model, file } = sentBy(gateway)
  expect({ prompt, temperature, language, model }).toEqual({
    prompt: 'names, changed',
    temperature: '0',
    language: undefined,
    model: 'whisper-1',
  })
  expect(file).toMatchObject({ bytes: 3000, sha256: new Bun.CryptoHasher('sha256').update(bytes).digest('hex') })
})

test('an embedding is changed, too', async () => {
  expect((await post(gateway, '/v1/embeddings', { model: 'embed', input: ['a', 'b'] })).status).toBe(200)
  expect(sentBy(gateway).input).toEqual(['a!', 'b!'])
})

describe('batches', () => {
  const upload = (...lines: [url: string, body: Json][]): Promise<Response> => {
    const form = new FormData()
    form.append('purpose', 'batch')
    form.append('model', 'batched')
    const text = lines.map(([url, body], at) => JSON.stringify({ custom_id: `n${at}`, method: 'POST', url, body }))
    form.append('file', new File([text.join('\n')], 'a.jsonl'))
    return post(gateway, '/v1/files', form)
  }
  const messages = [{ role: 'user', content: 'Hi' }]

  test('a chat line goes up as the policy has left it', async () => {
    const body = { model: 'batched', messages, max_completion_tokens: 5, metadata: { job: 'a' } }
    const response = await upload(
      ['/v1/chat/completions', body],
      ['/v1/moderations', { model: 'batched-judge', input: 'x' }],
    )
    expect([response.status, await response.json()]).toMatchObject([200, { purpose: 'batch' }])
    const lines = batches.files
      .at(-1)!
      .trim()
      .split('\n')
      .map(one => JSON.parse(one) as Json)
    expect(lines).toEqual([
      {
        custom_id: 'n0',
        method: 'POST',
        url: '/v1/chat/completions',
        body: { ...body, model: 'gpt-4o-mini', messages: [{ role: 'system', content: line }, ...messages] },
      },
      {
        custom_id: 'n1',
        method: 'POST',
        url: '/v1/moderations',
        body: { model: 'omni-moderation-latest', input: 'x' },
      },
    ])
  })

  test('a line that cannot be written anew is refused with its number', async () => {
    const before = batches.requests
    const response = await upload(
      ['/v1/chat/completions', { model: 'batched', messages }],
      ['/v1/responses', { model: 'batched', input: 'Hi' }],
    )
    const { error } = (await response.json()) as Json
    expect([response.status, error.param]).toEqual([400, 'file'])
    expect(error.message).toContain('line 2 of the file')
    expect(error.message).toContain('/v1/responses')
    expect(batches.requests).toBe(before)
  })
})

test('a call that names an uploaded file is changed, and sends the id of its upstream', async () => {
  const form = new FormData()
  form.append('purpose', 'user_data')
  form.append('model', 'gpt')
  form.append('file', new File(['%PDF-1.7 text'], 'a.pdf', { type: 'application/pdf' }))
  const file = (await (await post(gateway, '/v1/files', form)).json()) as Json
  const response = await post(gateway, '/v1/chat/completions', {
    model: 'gpt',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'read' },
          { type: 'file', file: { file_id: file.id } },
        ],
      },
    ],
  })
  expect(response.status).toBe(200)
  const { messages } = sentBy(gateway)
  expect(JSON.stringify(messages[0])).toContain(line)
  const { file_id: sent } = messages[1].content[1].file
  expect(sent).toMatch(/^file-/)
  expect(sent).not.toBe(file.id)
})

test('a preview shows the changed request', async () => {
  const response = await post(gateway, '/utils/transform_request', {
    call_type: 'completion',
    request_body: { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] },
  })
  expect(await response.text()).toContain(line)
})

test('a change in place is made once for every attempt', async () => {
  const appendToSchema: Policy = {
    name: 'append-to-schema',
    stage: 'body',
    admit: call =>
      call.change(input => {
        if (input.kind !== 'chat') return
        const { parameters } = input.request.tools![0]!
        const { city } = parameters!.properties as Record<string, { description: string }>
        city!.description += ' (changed)'
      }),
  }
  const retrying = await startGateway({
    config: matrixConfig(batches.url).replace('num_retries: 0', 'num_retries: 2'),
    policies: [appendToSchema],
  })
  try {
    retrying.simulator.script({}, { fault: 'status;code=500', times: 2 })
    const city = { type: 'string', description: 'of it' }
    const tool = { name: 'look_up', parameters: { type: 'object', properties: { city } } }
    const body = {
      model: 'chat',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: tool }],
    }
    expect((await post(retrying, '/v1/chat/completions', body)).status).toBe(200)
    const { entries } = retrying.simulator.truth
    const descriptions = entries.map(
      one => (one.body as Json).tools[0].function.parameters.properties.city.description as string,
    )
    expect(descriptions).toEqual(['of it (changed)', 'of it (changed)', 'of it (changed)'])
  } finally {
    await retrying.stop()
  }
})
