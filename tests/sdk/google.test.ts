/** Google's own client, the major on `/v1` and the one before it on `/v1beta`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { FunctionCallingConfigMode, GoogleGenAI, HarmBlockThreshold, HarmCategory, Type } from '@google/genai'
import type { Content, FunctionDeclaration, GenerateContentResponse } from '@google/genai'
import { GoogleGenAI as GoogleGenAIThree } from 'google-genai-v3'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'

const weather: FunctionDeclaration = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
}
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function failure(promise: PromiseLike<unknown>): Promise<{ status?: number; message: string; name: string }> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

async function gather(stream: AsyncIterable<GenerateContentResponse>): Promise<GenerateContentResponse[]> {
  const chunks: GenerateContentResponse[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

const clients = {
  '@google/genai 2': (url: string, key: string) => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } }),
  '@google/genai 3': (url: string, key: string) =>
    new GoogleGenAIThree({ apiKey: key, httpOptions: { baseUrl: url } }) as unknown as GoogleGenAI,
}

for (const [name, connect] of Object.entries(clients))
  describe(name, () => {
    let gateway: Gateway
    let client: GoogleGenAI

    beforeAll(async () => {
      gateway = await startGateway()
      client = connect(gateway.url, await gateway.key())
    })
    afterAll(() => gateway?.stop())

    for (const model of ['chat-model', 'claude-model']) {
      test(`${model}: text`, async () => {
        const answer = await client.models.generateContent({
          model,
          contents: 'say: hello there',
          config: { systemInstruction: 'Be brief.', temperature: 0.5, maxOutputTokens: 100, stopSequences: ['END'] },
        })
        expect(answer.text).toBe('hello there')
        expect(answer.candidates?.[0]?.finishReason as string).toBe('STOP')
        expect([answer.modelVersion, answer.usageMetadata!.totalTokenCount! > 0]).toEqual([model, true])
      })

      test(`${model}: stream`, async () => {
        const chunks = await gather(await client.models.generateContentStream({ model, contents: 'say: hello there' }))
        expect(chunks.map(chunk => chunk.text ?? '').join('')).toBe('hello there')
        expect(chunks.length).toBeGreaterThan(1)
        expect(chunks.at(-1)?.candidates?.[0]?.finishReason as string).toBe('STOP')
        expect(chunks.at(-1)?.usageMetadata?.candidatesTokenCount).toBeGreaterThan(0)
      })

      test(`${model}: a conversation that the client records`, async () => {
        const chat = client.chats.create({ model })
        await gather(await chat.sendMessageStream({ message: 'say: one' }))
        expect((await chat.sendMessage({ message: 'say: two' })).text).toBe('two')
        const curated = chat.getHistory(true)
        expect([...new Set(curated.map(one => one.role))]).toEqual(['user', 'model'])
        const said = curated
          .filter(one => one.role === 'model')
          .flatMap(one => one.parts!.map(part => part.text))
          .join('')
        expect(said).toBe('onetwo')
      })

      test(`${model}: a tool loop`, async () => {
        const contents: Content[] = [{ role: 'user', parts: [{ text: 'Weather in Paris? use the tool' }] }]
        const tools = [{ functionDeclarations: [weather] }]
        const asked = await client.models.generateContent({
          model,
          contents,
          config: {
            tools,
            toolConfig: {
              functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['get_weather'] },
            },
          },
        })
        const [call] = asked.functionCalls!
        expect(call!.name).toBe('get_weather')
        expect(call!.args).toHaveProperty('city')
        // As Google's examples write it: the model's turn as it came, the result by name.
        contents.push(asked.candidates![0]!.content!, {
          role: 'user',
          parts: [{ functionResponse: { name: call!.name!, response: { output: 'sunny, 21 degrees' } } }],
        })
        const answered = await client.models.generateContent({ model, contents, config: { tools } })
        expect(answered.text).toContain('sunny')
      })

      test(`${model}: streamed tool calls`, async () => {
        const chunks = await gather(
          await client.models.generateContentStream({
            model,
            contents: 'Weather? use the tool',
            config: { tools: [{ functionDeclarations: [weather] }] },
          }),
        )
        const calls = chunks.flatMap(chunk => chunk.functionCalls ?? [])
        expect(calls.map(call => [call.name, typeof call.args?.city])).toEqual([['get_weather', 'string']])
      })

      test(`${model}: an image`, async () => {
        const answer = await client.models.generateContent({
          model,
          contents: [
            {
              role: 'user',
              parts: [{ text: 'What is this?' }, { inlineData: { mimeType: 'image/png', data: pixel } }],
            },
          ],
        })
        expect(answer.text).toContain('I see 1 image')
      })

      test(`${model}: JSON by a schema`, async () => {
        const answer = await client.models.generateContent({
          model,
          contents: 'a person',
          config: {
            responseMimeType: 'application/json',
            responseSchema: { type: Type.OBJECT, properties: { age: { type: Type.INTEGER } }, required: ['age'] },
          },
        })
        expect(JSON.parse(answer.text!)).toEqual({ age: expect.any(Number) })
      })

      test(`${model}: thoughts for those who ask`, async () => {
        const ask = (includeThoughts: boolean) =>
          client.models.generateContent({
            model,
            contents: 'say: x',
            config: { thinkingConfig: { includeThoughts, thinkingBudget: 1024 } },
          })
        for (const shown of [true, false]) {
          const parts = (await ask(shown)).candidates![0]!.content!.parts!
          // The simulator's OpenAI upstream is not told of budgets and does not think.
          expect(parts.some(part => part.thought === true)).toBe(shown && model === 'claude-model')
          expect(
            parts
              .filter(part => !part.thought)
              .map(part => part.text)
              .join(''),
          ).toBe('x')
        }
      })
    }

    test('errors are thrown with their status', async () => {
      const wrong = await failure(client.models.generateContent({ model: 'nope', contents: 'x' }))
      expect([wrong.name, wrong.status]).toEqual(['ApiError', 404])
      expect(JSON.parse(wrong.message)).toMatchObject({ error: { code: 404, status: 'NOT_FOUND' } })
      const refused = await failure(
        client.models.generateContent({ model: 'chat-model', contents: 'x', config: { temperature: 9 } }),
      )
      expect([refused.status, refused.message.includes('generationConfig.temperature')]).toEqual([422, true])
      const stranger = await failure(
        connect(gateway.url, 'sk-stranger').models.generateContent({ model: 'chat-model', contents: 'x' }),
      )
      expect(stranger.status).toBe(401)
    })

    test('a stream that breaks is thrown too', async () => {
      for (const model of ['fault/sim#cut;at=5', 'claude-fault/sim#cut;at=5']) {
        // The client does not escape names in paths.
        const stream = await client.models.generateContentStream({
          model: model.replace('#', '%23'),
          contents: 'tokens: 20',
        })
        let text = ''
        const broken = await failure(
          (async () => {
            for await (const chunk of stream) text += chunk.text ?? ''
          })(),
        )
        expect(broken.message).toContain('503')
        expect(text.length).toBeGreaterThan(0)
      }
    })

    test('a client that leaves ends the call at the upstream', async () => {
      const controller = new AbortController()
      const stream = await client.models.generateContentStream({
        model: 'fault/sim%23token-ms=20',
        contents: 'tokens: 1000',
        config: { abortSignal: controller.signal },
      })
      for await (const chunk of stream) {
        expect(chunk.text).toBeString()
        break
      }
      controller.abort()
      const last = gateway.simulator.truth.entries.at(-1)!
      await until(() => last.finished === 'client-closed', 'the upstream is closed')
    })

    test('counts tokens, though the upstream has no counter', async () => {
      const count = async (contents: string) =>
        (await client.models.countTokens({ model: 'chat-model', contents })).totalTokens!
      const [short, long] = [await count('Hello'), await count('Hello, how are you today?')]
      expect(short).toBeWithin(1, 12)
      expect(long).toBeWithin(short + 4, short + 12)
      const wrong = await failure(client.models.countTokens({ model: 'nope', contents: 'x' }))
      expect(wrong.status).toBe(404)
    })

    test('embeddings, one and several', async () => {
      for (const contents of [['a'], ['a', 'b', 'c']]) {
        const { embeddings } = await client.models.embedContent({ model: 'embedding-model', contents })
        expect(embeddings!.map(one => one.values!.length > 8)).toEqual(contents.map(() => true))
      }
    })

    test('the list of models, and one of them', async () => {
      const ids: (string | undefined)[] = []
      for await (const model of await client.models.list()) ids.push(model.name)
      expect(ids).toContain('models/chat-model')
      expect((await client.models.get({ model: 'chat-model' })).name).toBe('models/chat-model')
    })
  })

/** In front of Google itself the client's bytes go through: nothing that Google knows may be lost on the way. */
const googleConfig = JSON.stringify({
  model_list: [
    {
      model_name: 'flash',
      proxy_params: { model: 'gemini/gemini-2.5-flash', api_base: '{simulator}', api_key: 'upstream-key-canary-1' },
    },
    {
      model_name: 'pro',
      proxy_params: {
        model: 'vertex_ai/gemini-3-pro-preview',
        api_base: '{simulator}',
        api_key: 'upstream-key-canary-1',
        vertex_project: 'p',
      },
    },
    {
      model_name: 'embedder',
      model_info: { mode: 'embedding' },
      proxy_params: { model: 'gemini/gemini-embedding-001', api_base: '{simulator}', api_key: 'upstream-key-canary-1' },
    },
  ],
})

for (const [name, connect] of Object.entries(clients))
  describe(`${name} in front of Google`, () => {
    let gateway: Gateway
    let client: GoogleGenAI
    const sent = () => gateway.simulator.truth.last()!

    beforeAll(async () => {
      gateway = await startGateway({ config: googleConfig })
      client = connect(gateway.url, await gateway.key())
    })
    afterAll(() => gateway?.stop())

    for (const model of ['flash', 'pro']) {
      test(`${model}: thoughts with their signatures, there and back`, async () => {
        const contents: Content[] = [{ role: 'user', parts: [{ text: 'Weather in Paris? use the tool' }] }]
        const config = { tools: [{ functionDeclarations: [weather] }], thinkingConfig: { includeThoughts: true } }
        const asked = await client.models.generateContent({ model, contents, config })
        const { parts } = asked.candidates![0]!.content!
        expect(parts![0]!.thought).toBe(true)
        const call = parts!.find(part => part.functionCall)!
        expect(call.thoughtSignature!.length).toBeGreaterThan(20)
        contents.push(asked.candidates![0]!.content!, {
          role: 'user',
          parts: [
            { functionResponse: { id: call.functionCall!.id, name: 'get_weather', response: { output: 'sunny' } } },
          ],
        })
        expect((await client.models.generateContent({ model, contents, config })).text).toBe('The tool said: sunny')
        expect(JSON.stringify(sent().body)).toContain(call.thoughtSignature!)
      })

      test(`${model}: settings that only Google has`, async () => {
        const config = {
          safetySettings: [
            { category: HarmCategory.HARM_CATEGORY_HARASSMENT, threshold: HarmBlockThreshold.BLOCK_NONE },
          ],
          topK: 5,
          seed: 7,
        }
        const wanted = {
          contents: [{ parts: [{ text: 'say: x' }] }],
          safetySettings: config.safetySettings,
          generationConfig: { topK: 5, seed: 7 },
        }
        expect((await client.models.generateContent({ model, contents: 'say: x', config })).text).toBe('x')
        expect(sent().body).toMatchObject(wanted)
      })

      test(`${model}: usage is what the upstream bills`, async () => {
        const answer = await client.models.generateContent({
          model,
          contents: 'tokens: 25',
          config: { thinkingConfig: { thinkingBudget: 8 } },
        })
        const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = answer.usageMetadata!
        const { inputTokens, outputTokens } = sent().billable
        expect([promptTokenCount, candidatesTokenCount, thoughtsTokenCount]).toEqual([inputTokens, outputTokens - 8, 8])
        const rows = await gateway.rows(`&model=${model}`)
        expect(rows[0]).toMatchObject({
          input_tokens: inputTokens,
          output_tokens: outputTokens,
          usage_source: 'upstream',
        })
      })

      test(`${model}: tokens are counted by the upstream`, async () => {
        expect((await client.models.countTokens({ model, contents: 'x'.repeat(40) })).totalTokens).toBe(10)
        expect(sent().path).toContain(':countTokens')
      })
    }

    test('embeddings for a purpose, of a length', async () => {
      const config = { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 64 }
      const { embeddings } = await client.models.embedContent({ model: 'embedder', contents: ['a', 'b'], config })
      expect(embeddings!.map(one => one.values!.length)).toEqual([64, 64])
      expect(sent().body).toMatchObject({
        requests: [{ model: 'models/gemini-embedding-001', taskType: 'RETRIEVAL_QUERY', outputDimensionality: 64 }, {}],
      })
    })
  })
