/** Vendor specifics: refusals, framing, and the official client of each vendor. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { GoogleGenAI } from '@google/genai'
import { Mistral } from '@mistralai/mistralai'
import { CohereClientV2 } from 'cohere-ai'
import { awsKeys, startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { postJson } from '../../simulator/testing/client.ts'
import { awsMessages } from '../../simulator/testing/dialects.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 7 })
})
beforeEach(() => simulator.reset())
afterAll(() => simulator.stop())

const bearer = { authorization: 'Bearer k' }
const post = async (path: string, body: unknown, headers: Record<string, string> = bearer) => {
  const { status, text } = await postJson(simulator, { path, headers }, body)
  return { status, text, body: JSON.parse(text) }
}
const user = (content: unknown) => ({ role: 'user', content })
const weather = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

/** Bodies that a vendor refuses, with the status and a part of the message. */
async function expectRefusals(
  path: string,
  good: object,
  wrong: readonly (readonly [object, number, RegExp])[],
): Promise<void> {
  expect((await post(path, good)).status).toBe(200)
  for (const [more, status, reason] of wrong) {
    const { status: got, text } = await post(path, { ...good, ...more })
    expect([got, text]).toEqual([status, expect.stringMatching(reason)])
  }
}

describe('Gemini', () => {
  test("Google's own client reads text, streams, calls, counts, embeddings and models", async () => {
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: simulator.url } })
    const model = 'gemini-2.5-flash'
    expect((await client.models.generateContent({ model, contents: 'say: hi' })).text).toBe('hi')
    const pieces: string[] = []
    for await (const chunk of await client.models.generateContentStream({
      model,
      contents: 'say: hello there',
    }))
      pieces.push(chunk.text ?? '')
    expect(pieces.join('')).toBe('hello there')
    const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: weather.parameters }] }]
    const called = await client.models.generateContent({ model, contents: 'use the tool', config: { tools } })
    expect([called.functionCalls![0]!.name, typeof called.functionCalls![0]!.args!.city]).toEqual([
      'get_weather',
      'string',
    ])
    expect((await client.models.countTokens({ model, contents: 'x'.repeat(12) })).totalTokens).toBe(3)
    const { embeddings } = await client.models.embedContent({
      model,
      contents: ['a', 'b'],
      config: { outputDimensionality: 16 },
    })
    expect(embeddings!.map(one => one.values!.length)).toEqual([16, 16])
    const ids: string[] = []
    for await (const one of await client.models.list()) ids.push(one.name!)
    expect(ids).toContain('models/sim-chat')
  })

  test('refusals; the API key in the query is not logged', async () => {
    const good = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
    await expectRefusals('/v1beta/models/sim:generateContent', good, [
      [{ contents: [] }, 400, /contents is not specified/],
      [{ contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] }, 400, /valid role: user, model/],
      [{ contents: [{ role: 'user', parts: [] }] }, 400, /must not be empty/],
      [{ generationConfig: { candidateCount: 99 } }, 400, /candidate_count/],
    ])
    await post('/v1beta/models/sim:generateContent?key=secret-key&x=1', good)
    expect(simulator.truth.last()!.path).toBe('/v1beta/models/sim:generateContent?key=present&x=1')
    const batch = { requests: [{ model: 'models/other', content: { parts: [{ text: 'x' }] } }] }
    expect((await post('/v1beta/models/sim:batchEmbedContents', batch)).text).toContain('does not match')
  })

  test('Gemini 3 requires thought signatures', async () => {
    const declared = { tools: [{ functionDeclarations: [weather] }] }
    const contents: object[] = [{ role: 'user', parts: [{ text: 'use the tool' }] }]
    const path = '/v1beta/models/gemini-3-pro:generateContent'
    const { content } = (await post(path, { ...declared, contents })).body.candidates[0]
    expect(content.parts[0].thoughtSignature).toBeString()
    const result = {
      role: 'user',
      parts: [{ functionResponse: { name: 'get_weather', response: { output: 'sunny' } } }],
    }
    const answered = await post(path, { ...declared, contents: [...contents, content, result] })
    expect(answered.body.candidates[0].content.parts[0].text).toBe('The tool said: sunny')
    const bare = { ...content, parts: content.parts.map(({ thoughtSignature: _, ...part }: any) => part) }
    expect((await post(path, { ...declared, contents: [...contents, bare, result] })).text).toContain(
      'missing a thought_signature',
    )
    expect(
      (await post(path.replace('-3-', '-2.5-'), { ...declared, contents: [...contents, bare, result] })).status,
    ).toBe(200)
  })

  test('Vertex AI: embeddings and images by predict', async () => {
    const at = (model: string) => `/v1/projects/p/locations/l/publishers/google/models/${model}:predict`
    const { predictions } = (await post(at('text-embedding-005'), { instances: [{ content: 'x'.repeat(8) }] })).body
    expect([predictions[0].embeddings.values.length, predictions[0].embeddings.statistics.token_count]).toEqual([
      768, 2,
    ])
    const painted = (await post(at('imagen-4'), { instances: [{ prompt: 'x' }], parameters: { sampleCount: 2 } })).body
    expect(painted.predictions.map((one: any) => one.mimeType)).toEqual(['image/png', 'image/png'])
  })
})

describe('Cohere', () => {
  test("Cohere's own client reads text, streams, calls, embeddings and reranking", async () => {
    const client = new CohereClientV2({ token: 'k', environment: simulator.url, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'say: hello there' }]
    const { message, usage } = await client.chat({ model: 'sim', messages })
    expect([message.content![0], usage!.billedUnits!.inputTokens]).toMatchObject([
      { type: 'text', text: 'hello there' },
      4,
    ])
    let text = ''
    for await (const event of await client.chatStream({ model: 'sim', messages }))
      if (event.type === 'content-delta') text += event.delta!.message!.content!.text
    expect(text).toBe('hello there')
    const tools = [{ type: 'function' as const, function: weather }]
    const called = await client.chat({
      model: 'sim',
      messages: [{ role: 'user', content: 'x' }],
      tools,
      toolChoice: 'REQUIRED',
    })
    expect([called.finishReason, called.message.toolCalls![0]!.function!.name]).toEqual(['TOOL_CALL', 'get_weather'])
    const { embeddings } = await client.embed({
      model: 'sim',
      texts: ['a', 'b'],
      inputType: 'search_query',
      embeddingTypes: ['float', 'int8'],
    })
    expect([embeddings.float!.length, embeddings.int8!.length]).toEqual([2, 2])
    const { results } = await client.rerank({
      model: 'sim',
      query: 'cats',
      documents: ['dogs', 'cats sleep'],
      topN: 1,
    })
    expect(results).toMatchObject([{ index: 1 }])
  })

  test('refusals', () =>
    expectRefusals('/v2/chat', { model: 'sim', messages: [user('x')] }, [
      [{ messages: [] }, 400, /must have a message/],
      [{ temperature: 1.5 }, 400, /temperature must be between 0 and 1/],
      [{ p: 1 }, 400, /p must be between/],
      [{ messages: [{ role: 'developer', content: 'x' }] }, 400, /invalid role/],
      [{ messages: [{ role: 'tool', content: 'x' }] }, 400, /tool_call_id/],
      [{ model: undefined }, 400, /missing required field 'model'/],
    ]))
})

describe('Mistral', () => {
  const path = '/mistral/v1/chat/completions'

  test("Mistral's own client reads text, streams, calls, thinking, embeddings and moderations", async () => {
    const client = new Mistral({
      serverURL: `${simulator.url}/mistral`,
      apiKey: 'k',
      retryConfig: { strategy: 'none' },
    })
    const messages = [{ role: 'user' as const, content: 'say: hello there' }]
    expect((await client.chat.complete({ model: 'sim', messages })).choices[0]!.message!.content).toBe('hello there')
    let text = ''
    let tokens: number | undefined
    for await (const { data } of await client.chat.stream({ model: 'sim', messages })) {
      text += typeof data.choices[0]!.delta.content === 'string' ? data.choices[0]!.delta.content : ''
      tokens = data.usage?.completionTokens ?? tokens
    }
    expect([text, tokens]).toEqual(['hello there', 3])
    const tools = [{ type: 'function' as const, function: weather }]
    for await (const { data } of await client.chat.stream({
      model: 'sim',
      messages: [{ role: 'user', content: 'x' }],
      tools,
      toolChoice: 'any',
    })) {
      const [call] = data.choices[0]!.delta.toolCalls ?? []
      if (call) expect([call.id!.length, data.choices[0]!.finishReason]).toEqual([9, 'tool_calls'])
    }
    const thinking = await client.chat.complete({ model: 'magistral', messages })
    expect(thinking.choices[0]!.message!.content).toMatchObject([
      { type: 'thinking' },
      { type: 'text', text: 'hello there' },
    ])
    const { data } = await client.embeddings.create({ model: 'sim', inputs: ['a'], outputDimension: 32 })
    expect(data[0]!.embedding!.length).toBe(32)
    const { results } = await client.classifiers.moderate({ model: 'sim', inputs: ['flag: pii'] })
    expect(results[0]!.categories).toMatchObject({ pii: true, law: false })
    const filled = await client.fim.complete({ model: 'sim', prompt: 'say: between', suffix: 'x' })
    expect(filled.choices[0]!.message!.content).toBe('between')
  })

  test('refusals', () => {
    const call = (id: string) => ({
      role: 'assistant',
      content: '',
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
    })
    const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
    return expectRefusals(path, { model: 'sim', messages: [user('x')] }, [
      [{ seed: 1 }, 422, /extra_forbidden.*"seed"/],
      [{ stream_options: {} }, 422, /Extra inputs are not permitted/],
      [{ reasoning_effort: 'medium' }, 422, /'high' or 'none'/],
      [{ messages: [user('x'), call('call_123'), result('call_123')] }, 400, /length of 9/],
      [{ messages: [user('x'), call('abcdefghi'), user('y')] }, 400, /Not the same number/],
      [
        { messages: [user('x'), call('abcdefghi'), result('abcdefghi'), user('y')] },
        400,
        /Unexpected role 'user' after role 'tool'/,
      ],
      [{ messages: [user('x'), { role: 'assistant', content: 'y' }] }, 400, /Expected last role/],
      [{ messages: [user('x'), { role: 'assistant', content: '' }, user('z')] }, 400, /either content or tool_calls/],
      [{ messages: [{ role: 'developer', content: 'x' }, user('x')] }, 422, /developer/],
    ])
  })
})

describe('Ollama', () => {
  test('streams by default, one line for each event; tool calls cannot be forced', async () => {
    const { text, headers } = await postJson(simulator, '/api/chat', {
      model: 'sim',
      messages: [user('say: hi there')],
    })
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    const lines = text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect([lines.map(line => line.done), lines.at(-1).done_reason]).toEqual([[false, false, true], 'stop'])
    const forced = {
      model: 'sim',
      stream: false,
      messages: [user('say: no')],
      tools: [{ type: 'function', function: weather }],
      tool_choice: 'required',
    }
    expect((await post('/api/chat', forced)).body.message).toEqual({ role: 'assistant', content: 'no' })
    expect((await post('/api/embed', { model: 'sim', input: ['a', 'b'] })).body.embeddings.length).toBe(2)
    expect(await (await fetch(`${simulator.url}/api/tags`)).json()).toMatchObject({
      models: [{ name: 'sim-chat' }, {}, {}, {}],
    })
    expect((await post('/api/chat', { model: 'sim', messages: [user([{ type: 'text', text: 'x' }])] })).text).toContain(
      'cannot unmarshal array',
    )
  })
})

describe('Azure', () => {
  test('filter results for prompt and answer; api-version is required', async () => {
    const body = { model: 'ignored', messages: [user('say: hi')] }
    const path = '/openai/deployments/mine/chat/completions'
    const { body: whole } = await post(`${path}?api-version=2024-10-21`, body)
    expect([whole.model, whole.choices[0].content_filter_results.hate]).toEqual([
      'mine',
      { filtered: false, severity: 'safe' },
    ])
    const { text } = await postJson(simulator, `${path}?api-version=2024-10-21`, { ...body, stream: true })
    expect(JSON.parse(text.split('\n\n')[0]!.slice(6))).toMatchObject({
      choices: [],
      prompt_filter_results: [{ prompt_index: 0 }],
    })
    for (const query of ['', '?api-version=1']) expect((await post(path + query, body)).status).toBe(404)
    const filtered = await post(
      `/openai/deployments/mine%23status;code=400;kind=content-filter/chat/completions?api-version=2024-10-21`,
      body,
    )
    expect(filtered.body.error.innererror.code).toBe('ResponsibleAIPolicyViolation')
  })
})

describe('Bedrock', () => {
  const path = '/model/us.amazon.nova-pro-v1%3A0/converse'
  const body = { messages: [user([{ text: 'say: hi' }])] }

  test('refusals', () =>
    expectRefusals(path, body, [
      [{ messages: [] }, 400, /must start with a user message/],
      [{ messages: [...body.messages, ...body.messages] }, 400, /must alternate/],
      [{ messages: [user([{ text: ' ' }])] }, 400, /is blank/],
      [{ inferenceConfig: { temperature: 2 } }, 400, /less than or equal to 1/],
      [
        {
          messages: [
            ...body.messages,
            { role: 'assistant', content: [{ toolUse: { toolUseId: 't', name: 'f', input: {} } }] },
            user([{ text: 'x' }]),
          ],
        },
        400,
        /toolConfig/,
      ],
    ]))

  test('signatures have to be well-formed, and correct for the known key', async () => {
    const time = '20250101T000000Z'
    const signed = (more: { scope?: string; names?: string; signature?: string; id?: string; date?: string } = {}) => ({
      'x-amz-date': more.date ?? time,
      authorization:
        'AWS4-HMAC-SHA256 ' +
        `Credential=${more.id ?? 'AKIAANYONE0000000000'}/${more.scope ?? '20250101/us-east-1/bedrock/aws4_request'}, ` +
        `SignedHeaders=${more.names ?? 'host;x-amz-date'}, Signature=${more.signature ?? 'a'.repeat(64)}`,
    })
    expect((await post(path, body, signed())).status).toBe(200)
    const wrong: [Record<string, string>, RegExp][] = [
      [{}, /Missing Authentication Token/],
      [{ authorization: 'Basic x' }, /form of Signature/],
      [signed({ signature: 'xyz' }), /form of Signature/],
      [signed({ scope: '20250101/us-east-1/s3/aws4_request' }), /correct service/],
      [signed({ scope: '20250102/us-east-1/bedrock/aws4_request' }), /Date in Credential scope/],
      [signed({ date: 'today' }), /X-Amz-Date/],
      [signed({ names: 'x-amz-date' }), /'host' must be a 'SignedHeader'/],
      [signed({ names: 'x-amz-date;host' }), /not in order/],
      [signed({ names: 'host;x-amz-date;x-other' }), /'x-other' was not sent/],
      [{ ...signed(), 'x-amz-security-token': 'secret' }, /'x-amz-security-token' must be/],
      [signed({ id: awsKeys.id }), /signature we calculated does not match/],
    ]
    for (const [headers, reason] of wrong) {
      const { status, text } = await post(path, body, headers)
      expect([status, text]).toEqual([403, expect.stringMatching(reason)])
    }
    expect(JSON.stringify(simulator.truth.entries)).not.toContain('"secret"')
  })

  test('a wrong checksum, an exception, and event names', async () => {
    const stream = async (fault: string) =>
      Buffer.from(
        await (
          await fetch(`${simulator.url}/model/sim${fault}/converse-stream`, {
            method: 'POST',
            body: JSON.stringify(body),
            headers: bearer,
          })
        ).arrayBuffer(),
      )
    expect(awsMessages(await stream('')).map(message => message.name)).toEqual([
      'messageStart',
      'contentBlockDelta',
      'contentBlockStop',
      'messageStop',
      'metadata',
    ])
    expect(awsMessages(await stream('%23error-in-stream;at=1')).at(-1)).toMatchObject({
      kind: 'exception',
      name: 'internalServerException',
    })
    const bytes = await stream('%23bad-crc;at=1')
    expect(() => awsMessages(bytes)).toThrow('wrong message checksum')
    expect(simulator.truth.last()!.finished).toBe('cut')
  })

  test('embeddings and counts', async () => {
    const titan = await post('/model/amazon.titan-embed-text-v2%3A0/invoke', {
      inputText: 'x'.repeat(8),
      dimensions: 256,
    })
    expect([titan.body.embedding.length, titan.body.inputTextTokenCount]).toEqual([256, 2])
    expect((await post('/model/amazon.titan-embed-text-v2%3A0/invoke', { inputText: 'x', more: 1 })).text).toContain(
      'extraneous key',
    )
    expect((await post('/model/sim/count-tokens', { input: { converse: body } })).body).toEqual({
      inputTokens: 2,
    })
  })
})

test('scripted images, in dialects with a field for them', async () => {
  simulator.script({}, { text: 'look', images: [{ data: 'QUJD' }] })
  const asked: [string, object, (body: any) => string][] = [
    [
      '/v1/chat/completions',
      { model: 'm', messages: [user('x')] },
      body => body.choices[0].message.images[0].image_url.url,
    ],
    [
      '/v1/responses',
      { model: 'm', input: 'x' },
      body => body.output.find((item: any) => item.type === 'image_generation_call').result,
    ],
    [
      '/v1beta/models/m:generateContent',
      { contents: [{ parts: [{ text: 'x' }] }] },
      body => body.candidates[0].content.parts[1].inlineData.data,
    ],
    [
      '/model/m/converse',
      { messages: [user([{ text: 'x' }])] },
      body => body.output.message.content[1].image.source.bytes,
    ],
  ]
  for (const [path, body, pick] of asked) expect(pick((await post(path, body)).body)).toEndWith('QUJD')
})
