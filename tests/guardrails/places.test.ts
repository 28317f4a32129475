/** Guardrails on places of questions that are no prompt: names, addresses, fields of the client, inline files. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

type Json = Record<string, unknown>

let gateway: Gateway
let key: string

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k }
  - model_name: claude
    proxy_params: { model: anthropic/up, api_base: "{simulator}", api_key: k }
  - model_name: vectors
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: embedding }
  - model_name: five
    proxy_params: { model: openai/gpt-5.4, api_base: "{simulator}/v1", api_key: k }
  - model_name: ranker
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: rerank }
  - model_name: ear
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: audio_transcription }
guardrails:
  - { guardrail_name: masked, litellm_params: { guardrail: words, mode: pre_call, words: [zanzibar], action: mask } }
  - { guardrail_name: places, litellm_params: { guardrail: words, mode: pre_call, words: [zanzibar] } }
`,
  })
  key = await gateway.key({ guardrails: ['places'] })
})
afterAll(() => gateway?.stop())

const word = 'zanzibar'
const messages = [{ role: 'user', content: 'Where to?' }]
const user = (part: Json): Json => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, part] }] })
const inline = (mediaType: string, text: string): string =>
  `data:${mediaType};base64,${Buffer.from(text).toString('base64')}`
const tool = (parameters: Json): Json => ({ tools: [{ type: 'function', function: { name: 'go', parameters } }] })

const chats: Record<string, Json> = {
  'the end user': { user: word },
  'a stop sequence': { stop: ['x', word] },
  'the name of a field that nobody knows': { [`x-${word}`]: 1 },
  'the name of a field that nobody knows, which ends as ids do': { [`${word}-x_id`]: 'x' },
  'the id of a call of a tool': {
    messages: [
      ...messages,
      {
        role: 'assistant',
        tool_calls: [{ id: `to ${word}`, type: 'function', function: { name: 'go', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: `to ${word}`, content: 'x' },
    ],
  },
  metadata: { metadata: { place: word } },
  'a name in metadata': { metadata: { [word]: 'x' } },
  'the name of a schema': {
    response_format: { type: 'json_schema', json_schema: { name: word, schema: { type: 'object', properties: {} } } },
  },
  'a property of a schema': {
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'x', schema: { type: 'object', properties: { [word]: { type: 'string' } } } },
    },
  },
  'a property of a tool': tool({ type: 'object', properties: { [word]: { type: 'string' } } }),
  'the address of a picture': user({ type: 'image_url', image_url: { url: `https://example.com/?q=${word}` } }),
  'the name of a bias': { logit_bias: { [word]: 1 } },
  'a setting of the vendor': { service_tier: word },
  'the format of a sound': user({ type: 'input_audio', input_audio: { data: 'YQ==', format: word } }),
  'a member of a message that its host alone knows': {
    messages: [
      ...messages,
      { role: 'assistant', content: 'There.', reasoning_details: [{ type: 'reasoning.text', text: `to ${word}` }] },
      ...messages,
    ],
  },
  'a member of a part that its host alone knows': user({ type: 'text', text: 'Hi', note: { of: word } }),
  'an inline PDF': user({
    type: 'file',
    file: { filename: 'a.pdf', file_data: inline('application/pdf', `%PDF-1.4 a walk in ${word} today`) },
  }),
  'inline JSON': user({
    type: 'file',
    file: { filename: 'a.json', file_data: inline('application/json', `{"where": "${word}"}`) },
  }),
}
const others: Record<string, [string, Json]> = {
  'a stop sequence of Messages': ['/v1/messages', { model: 'claude', max_tokens: 9, messages, stop_sequences: [word] }],
  'the user of Messages': ['/v1/messages', { model: 'claude', max_tokens: 9, messages, metadata: { user_id: word } }],
  'the address of a document of Messages': [
    '/v1/messages',
    {
      model: 'claude',
      max_tokens: 9,
      ...user({ type: 'document', source: { type: 'url', url: `https://example.com/${word}.pdf` } }),
    },
  ],
  'a passage that an answer before has cited': [
    '/v1/messages',
    {
      model: 'claude',
      max_tokens: 9,
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: [
            {
              type: 'text',
              text: 'There.',
              citations: [
                {
                  type: 'char_location',
                  cited_text: `to ${word}`,
                  document_index: 0,
                  document_title: 'A walk',
                  start_char_index: 0,
                  end_char_index: 9,
                },
              ],
            },
          ],
        },
        ...messages,
      ],
    },
  ],
  'the id of a use of a tool': [
    '/v1/messages',
    {
      model: 'claude',
      max_tokens: 9,
      messages: [
        ...messages,
        { role: 'assistant', content: [{ type: 'tool_use', id: `to-${word}`, name: 'go', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `to-${word}`, content: 'x' }] },
      ],
    },
  ],
  'what is called redacted thinking': [
    '/v1/messages',
    {
      model: 'claude',
      max_tokens: 9,
      messages: [
        ...messages,
        { role: 'assistant', content: [{ type: 'redacted_thinking', data: `to ${word}` }] },
        ...messages,
      ],
    },
  ],
  'a tool that the vendor runs': [
    '/v1/messages',
    {
      model: 'claude',
      max_tokens: 9,
      messages,
      tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: [`${word}.com`] }],
    },
  ],
  'a further field of a document': [
    '/v1/rerank',
    { model: 'ranker', query: 'Where to?', documents: [{ text: 'there', place: word }] },
  ],
  'the end user of embeddings': ['/v1/embeddings', { model: 'vectors', input: 'Hi', user: word }],
}
const places = [
  ...Object.entries(chats).map(([place, body]) => [
    place,
    '/v1/chat/completions',
    { model: 'chat', messages, ...body },
  ]),
  ...Object.entries(others).map(([place, [path, body]]) => [place, path, body]),
] as [string, string, Json][]

const post = (path: string, body: string): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body })

for (const [place, path, body] of places)
  test(`${place} is searched`, async () => {
    const text = JSON.stringify(body)
    const innocent = text.replaceAll(word, 'pemba').replaceAll(/base64,([^"]+)/g, (_, data: string) => {
      const decoded = Buffer.from(data, 'base64').toString('utf8').replaceAll(word, 'pemba')
      return `base64,${Buffer.from(decoded).toString('base64')}`
    })
    const good = await post(path, innocent)
    expect([good.status, await good.text()]).toEqual([200, expect.any(String)])
    const before = gateway.simulator.truth.totals().requests
    const refused = await post(path, text)
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("guardrail 'places'")])
    expect(gateway.simulator.truth.totals().requests).toBe(before)
  })

test('what only its host knows is left out of a call where something in it is to be masked', async () => {
  const masking = await gateway.key({ guardrails: ['masked'] })
  const ask = async (note: string) => {
    const before = gateway.simulator.truth.entries.length
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masking}` },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hi', note }] }),
    })
    return [response.status, (gateway.simulator.truth.entries[before]!.body as Json).messages]
  }
  expect(await ask('to zanzibar')).toEqual([200, [{ role: 'user', content: 'Hi' }]])
  expect(await ask('to pemba')).toEqual([200, [{ role: 'user', content: 'Hi', note: 'to pemba' }]])
})

test('the name of a file in a form is searched', async () => {
  const send = (name: string) => {
    const form = new FormData()
    form.set('model', 'ear')
    form.set('file', new File(['a sound'], name))
    const headers = { authorization: `Bearer ${key}` }
    return fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
  }
  expect((await send('pemba.wav')).status).toBe(200)
  expect((await send('zanzibar.wav')).status).toBe(400)
})

test('the description and the grammar of a tool for plain text are masked', async () => {
  const masking = await gateway.key({ guardrails: ['masked'] })
  const before = gateway.simulator.truth.entries.length
  const grammar = { syntax: 'lark', definition: 'start: "zanzibar"' }
  const custom = { name: 'say', description: 'says zanzibar', format: { type: 'grammar', grammar } }
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masking}` },
    body: JSON.stringify({ model: 'five', messages, tools: [{ type: 'custom', custom }] }),
  })
  expect(response.status).toBe(200)
  const sent = JSON.stringify(gateway.simulator.truth.entries.slice(before).map(({ body }) => body))
  expect(sent).toContain('says [WORD_1]')
  expect(sent).not.toContain('zanzibar')
})
