/**
 * OpenAI's SDK for agents, over Responses and over chat, with upstreams of other vendors: tools, streams, objects,
 * handing over.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import OpenAI, { APIError } from 'openai'
import { z } from 'zod'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { askAboutPicture, askForTool, pixelUrl, toolResult } from './matrix/client.ts'
import { matrixConfig, providerRows } from './matrix/providers.ts'

const upstreams = ['openai', 'custom_openai', 'anthropic', 'gemini', 'cohere', 'mistral', 'ollama', 'bedrock']
const rows = providerRows.filter(row => upstreams.includes(row.name))
const hello = 'hello there, Grüße ✓ 😀'

let gateway: Gateway
let key: string
beforeAll(async () => {
  // Its traces would go to OpenAI.
  setTracingDisabled(true)
  gateway = await startGateway({ config: matrixConfig() })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const clientOf = (apiKey: string): OpenAI => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

for (const useResponses of [true, false])
  describe(`@openai/agents over ${useResponses ? 'Responses' : 'chat'}`, () => {
    const runner = (apiKey = key) =>
      new Runner({
        modelProvider: new OpenAIProvider({ openAIClient: clientOf(apiKey), useResponses }),
        tracingDisabled: true,
      })
    const agent = (model: string, more: object = {}) =>
      new Agent({ name: 'helper', instructions: 'Be brief.', model, modelSettings: { maxTokens: 2000 }, ...more })
    const arrived = (path: RegExp) => expect(gateway.simulator.truth.last()!.path).toMatch(path)

    function weather(asked: string[]) {
      return tool({
        name: 'get_weather',
        description: 'The weather of a city',
        parameters: z.object({ city: z.string() }),
        execute: ({ city }) => {
          asked.push(city)
          return toolResult
        },
      })
    }

    for (const { name, path } of rows) {
      test(`${name}: text, and a conversation that goes on`, async () => {
        const first = await runner().run(agent(name), `say: ${hello}`)
        expect(first.finalOutput).toBe(hello)
        const second = await runner().run(agent(name), [...first.history, { role: 'user', content: 'say: again' }])
        expect(second.finalOutput).toBe('again')
        arrived(path)
      })

      test(`${name}: a stream of text`, async () => {
        const result = await runner().run(agent(name), `say: ${hello}`, { stream: true })
        let text = ''
        for await (const piece of result.toTextStream()) text += piece
        await result.completed
        expect([text, result.finalOutput]).toEqual([hello, hello])
        expect(gateway.simulator.truth.last()!.finished).toBe('complete')
      })

      for (const stream of [false, true])
        test(`${name}: a tool is called and its result read${stream ? ', streamed' : ''}`, async () => {
          const asked: string[] = []
          const helper = agent(name, { tools: [weather(asked)] })
          let finalOutput: unknown
          if (stream) {
            const result = await runner().run(helper, askForTool, { stream })
            await result.completed
            finalOutput = result.finalOutput
          } else finalOutput = (await runner().run(helper, askForTool)).finalOutput
          expect([asked.length, typeof asked[0], finalOutput]).toEqual([1, 'string', `The tool said: ${toolResult}`])
          arrived(path)
        })

      test(`${name}: an object by its schema`, async () => {
        const result = await runner().run(
          agent(name, { outputType: z.object({ city: z.string(), people: z.number() }) }),
          'A city, please.',
        )
        expect(result.finalOutput).toEqual({ city: expect.any(String), people: expect.any(Number) } as never)
        arrived(path)
      })

      test(`${name}: a picture`, async () => {
        const content = [
          { type: 'input_text' as const, text: askAboutPicture },
          { type: 'input_image' as const, image: pixelUrl },
        ]
        const result = await runner().run(agent(name), [{ role: 'user', content }])
        expect(result.finalOutput).toStartWith('I see 1 image. ')
      })

      test(`${name}: one agent hands over to another`, async () => {
        const second = agent(name, { name: 'weather_agent', handoffDescription: 'Knows the weather' })
        const first = agent(name, { name: 'desk', handoffs: [second] })
        const result = await runner().run(first, askForTool, { maxTurns: 4 })
        expect([result.lastAgent?.name, String(result.finalOutput)]).toEqual([
          'weather_agent',
          expect.stringContaining('weather_agent'),
        ])
      })

      test(`${name}: a refusal keeps its status; a stream that is cut is no answer`, async () => {
        const refused = await failure(runner().run(agent(`${name}-limited`), 'x'))
        expect([refused instanceof APIError, (refused as APIError).status]).toEqual([true, 429])
        const cut = (async () => {
          const result = await runner().run(agent(`${name}-cut`), 'tokens: 60', { stream: true })
          for await (const _ of result.toTextStream());
          await result.completed
        })()
        await failure(cut)
        expect(gateway.simulator.truth.last()!.finished).toBe('cut')
      })
    }

    test('a model that does not exist, a key that nobody knows', async () => {
      const statusOf = async (apiKey: string, model: string) =>
        ((await failure(runner(apiKey).run(agent(model), 'x'))) as APIError).status
      expect([await statusOf(key, 'nope'), await statusOf('sk-stranger', 'openai')]).toEqual([404, 401])
    })
  })
