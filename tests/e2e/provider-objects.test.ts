/** The provider's own ids in bodies: objects of an account that all keys share. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const config = (more = '') => `model_list:
  - model_name: chat
    proxy_params: { model: litellm_proxy/sim-chat, api_base: "{simulator}/v1", api_key: canary }
  - model_name: claude
    proxy_params: { model: anthropic/sim-claude, api_base: "{simulator}", api_key: canary }
  - model_name: gemini
    proxy_params: { model: gemini/sim-gemini, api_base: "{simulator}/v1beta", api_key: canary }
router_settings: { num_retries: 0 }
${more}`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config: config() })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

async function ask(path: string, body: object | string, as = key, at = gateway) {
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'anthropic-version': '2023-06-01' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

const chat = (...content: object[]) => ({ model: 'chat', messages: [{ role: 'user', content }] })
const respond = (more: object) => ({ model: 'chat', input: 'x', ...more })
const item = (...content: object[]) => respond({ input: [{ role: 'user', content }] })
const claude = (content: object[], more: object = {}) => ({
  model: 'claude',
  max_tokens: 9,
  messages: [{ role: 'user', content }],
  ...more,
})
const gemini = (part: object, more: object = {}) => ({ contents: [{ role: 'user', parts: [part] }], ...more })
const text = { type: 'text', text: 'x' }
const chatPath = '/v1/chat/completions'
const geminiPath = '/v1beta/models/gemini:generateContent'

/** The path in the error, the route, and the body that names the object. */
const naming: readonly (readonly [string, string, object])[] = [
  ['messages.0.content.0.file.file_id', chatPath, chat({ type: 'file', file: { file_id: 'file-abc' } })],
  ['messages.0.content.0.image_url.url', chatPath, chat({ type: 'image_url', image_url: { url: 'gs://b/x.png' } })],
  ['messages.0.content.0.video_url.url', chatPath, chat({ type: 'video_url', video_url: { url: 'file:///etc/x' } })],
  ['input.0.content.0.file_id', '/v1/responses', item({ type: 'input_file', file_id: 'file-abc' })],
  ['input.0.content.0.image_url', '/v1/responses', item({ type: 'input_image', image_url: 's3://b/x.png' })],
  [
    'tools.0.vector_store_ids.0',
    '/v1/responses',
    respond({ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }),
  ],
  ['tools.0.container', '/v1/responses', respond({ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] })],
  [
    'tools.0.container.file_ids.0',
    '/v1/responses',
    respond({ tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-abc'] } }] }),
  ],
  [
    'tools.0.environment.container_id',
    '/v1/responses',
    respond({ tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } }] }),
  ],
  [
    'tools.0.environment.skills.0.skill_id',
    '/v1/responses',
    respond({
      tools: [
        {
          type: 'shell',
          environment: { type: 'container_auto', skills: [{ type: 'skill_reference', skill_id: 's_1' }] },
        },
      ],
    }),
  ],
  [
    'tools.0.tunnel_id',
    '/v1/responses',
    respond({ tools: [{ type: 'mcp', server_label: 'a', tunnel_id: `tunnel_${'1'.repeat(32)}` }] }),
  ],
  ...['additional_tools', 'tool_search_output'].map(
    type =>
      [
        'input.0.tools.0.vector_store_ids.0',
        '/v1/responses',
        respond({
          input: [
            { type, role: 'developer', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
            { role: 'user', content: 'x' },
          ],
        }),
      ] as const,
  ),
  ['prompt.id', '/v1/responses', { model: 'chat', prompt: { id: 'pmpt_1' } }],
  ['prompt.id', '/v1/responses', { model: 'chat', prompt: { id: 'pmpt_1', variables: { a: 'x'.repeat(300_000) } } }],
  [
    'messages.0.content.0.source.file_id',
    '/v1/messages',
    claude([{ type: 'document', source: { type: 'file', file_id: 'file_011' } }]),
  ],
  [
    'messages.0.content.0.content.0.source.file_id',
    '/v1/messages',
    claude([
      {
        type: 'tool_result',
        tool_use_id: 't',
        content: [{ type: 'image', source: { type: 'file', file_id: 'file_011' } }],
      },
    ]),
  ],
  ['messages.0.content.0.file_id', '/v1/messages', claude([{ type: 'container_upload', file_id: 'file_011' }])],
  ['container', '/v1/messages', claude([text], { container: 'container_1' })],
  ['container.id', '/v1/messages', claude([text], { container: { id: 'container_1' } })],
  [
    'container.skills.0.skill_id',
    '/v1/messages',
    claude([text], { container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] } }),
  ],
  ['cachedContent', geminiPath, gemini({ text: 'x' }, { cachedContent: 'cachedContents/1' })],
  ['cached_content', geminiPath, gemini({ text: 'x' }, { cached_content: 'cachedContents/1' })],
  [
    'contents.0.parts.0.fileData.fileUri',
    geminiPath,
    gemini({ fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/1' } }),
  ],
  ['contents.0.parts.0.fileData.fileUri', geminiPath, gemini({ file_data: { file_uri: 'gs://bucket/x.pdf' } })],
  [
    'tools.0.fileSearch',
    geminiPath,
    gemini({ text: 'x' }, { tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/1'] } }] }),
  ],
  [
    'tools.1.retrieval',
    geminiPath,
    gemini(
      { text: 'x' },
      {
        tools: [
          { functionDeclarations: [{ name: 'f', description: 'x'.repeat(300_000) }] },
          { retrieval: { vertex_ai_search: { datastore: 'projects/p/x' } } },
        ],
      },
    ),
  ],
  [
    'generateContentRequest.contents.0.parts.0.fileData.fileUri',
    '/v1beta/models/gemini:countTokens',
    { generateContentRequest: gemini({ fileData: { fileUri: 'gs://bucket/x.pdf' } }) },
  ],
]

describe("objects named by the provider's own ids", () => {
  for (const [where, path, body] of naming)
    test(`${where} on ${path}: refused for a virtual key, sent nowhere; not refused for the master key`, async () => {
      const refusal = await ask(path, body)
      expect(refusal).toMatchObject({ status: 403, text: expect.stringContaining(`\`${where}\``) })
      expect(gateway.simulator.truth.entries).toEqual([])
      expect((await ask(path, body, masterKey)).text).not.toContain("of the provider's account")
    })

  test('escapes and large bodies hide none', async () => {
    const part = (pad: string) =>
      `{"model":"chat","messages":[{"role":"user","content":[{"type":"text","text":"${pad}"},{"type":"file",` +
      `"file":{"file_\\u0069d":"file-abc"}}]}]}`
    expect((await ask(chatPath, part(''))).status).toBe(403)
    expect((await ask(chatPath, part('x'.repeat(300_000)))).status).toBe(403)
    expect((await ask(chatPath, part('x'.repeat(300_000)).replace('\\u0069', 'i'))).status).toBe(403)
  })

  test('no way of writing an address hides it in a large body', async () => {
    const spaces = ' '.repeat(5000)
    const addresses = [
      'GS://bucket/x.png',
      `${spaces}s3://bucket/x.png`,
      `\n\t${spaces}file:///etc/x`,
      `\u3000${spaces}abfss://c@account/x`,
      'AzureML://datastores/x',
      `https://${'u'.repeat(5000)}@generativelanguage.googleapis.com/v1beta/files/x`,
      `gs://bucket/${'x'.repeat(5000)}`,
    ]
    for (const url of addresses) {
      const body = chat({ type: 'text', text: 'x'.repeat(300_000) }, { type: 'image_url', image_url: { url } })
      const at = url.trim().slice(0, 20)
      expect([at, await ask(chatPath, body)]).toMatchObject([at, { status: 403 }])
    }
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(300_000)}` } }
    expect(await ask(chatPath, chat(image))).toMatchObject({ status: 200 })
  })

  test('public addresses, ids of the gateway, function schemas and history pass', async () => {
    const passing: readonly (readonly [string, object])[] = [
      [chatPath, chat({ type: 'image_url', image_url: { url: 'https://example.com/gs:x.png' } })],
      [
        chatPath,
        {
          ...chat(text),
          tools: [
            {
              type: 'function',
              function: {
                name: 'f',
                parameters: { type: 'object', properties: { container: { type: 'string' }, file_id: {} } },
              },
            },
          ],
        },
      ],
      ['/v1/messages', claude([text], { container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } })],
      [
        '/v1/responses',
        respond({
          tools: [
            {
              type: 'shell',
              environment: { type: 'container_auto', skills: [{ type: 'skill_reference', skill_id: 'openai-pdfs' }] },
            },
          ],
        }),
      ],
      [geminiPath, gemini({ fileData: { fileUri: 'https://www.youtube.com/watch?v=1' } })],
    ]
    for (const [path, body] of passing) expect({ body, ...(await ask(path, body)) }).toMatchObject({ status: 200 })
    const form = new FormData()
    form.set('purpose', 'user_data')
    form.set('model', 'chat')
    form.set('file', new File(['%PDF-1.4'], 'x.pdf', { type: 'application/pdf' }))
    const uploaded = await fetch(`${gateway.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })
    const { id } = (await uploaded.json()) as { id: string }
    expect((await ask(chatPath, chat({ type: 'file', file: { file_id: id } }))).status).toBe(200)
  })

  test('provider_object_ids: all_keys lets every key name them, none not even the master key', async () => {
    const [, path, body] = naming[0]!
    for (const [who, statuses] of [
      ['all_keys', [200, 200]],
      ['none', [403, 403]],
    ] as const) {
      const other = await startGateway({ config: config(`general_settings: { provider_object_ids: ${who} }\n`) })
      const own = await other.key()
      const answers = [await ask(path, body, own, other), await ask(path, body, masterKey, other)]
      await other.stop()
      expect(answers.map(({ status }) => status)).toEqual([...statuses])
    }
  })
})
