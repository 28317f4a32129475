/** OpenAI's newer endpoints against its published document and its client. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { deviations } from '../support/openai-conformance.ts'
import { postJson } from '../../simulator/testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 7 })
})
beforeEach(() => simulator.reset())
afterAll(() => simulator.stop())

const post = async (path: string, body: unknown) => {
  const { status, text } = await postJson(simulator, path, body)
  return { status, text, body: JSON.parse(text) }
}
const weather = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

describe('OpenAI', () => {
  test("responses: the document's own schema, the client's own helper", async () => {
    const client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: 'k', maxRetries: 0 })
    const tools = [{ type: 'function', strict: false, ...weather }] as OpenAI.Responses.Tool[]
    for (const body of [
      { input: 'say: hi' },
      { input: 'use the tool', tools },
      { input: 'x', reasoning: { effort: 'low' as const } },
      { input: 'tokens: 30', max_output_tokens: 16 },
    ]) {
      const { text } = await postJson(simulator, '/v1/responses', { model: 'sim', ...body })
      expect(deviations('Response', JSON.parse(text))).toEqual([])
      const stream = client.responses.stream({ model: 'sim', ...body })
      const events: { type: string; sequence_number: number }[] = []
      stream.on('event', event => void events.push(event))
      const { output_text: _, ...final } = await stream.finalResponse()
      expect(final.output.map(item => item.type)).toEqual(JSON.parse(text).output.map((item: any) => item.type))
      expect(events.map(event => event.sequence_number)).toEqual(events.map((__, at) => at))
      // OpenAI sends `usage: null` in early events, which its document does not allow.
      const asDocumented = (event: any) =>
        event.response?.usage === null ? { ...event, response: { ...event.response, usage: undefined } } : event
      for (const event of events)
        expect([event.type, deviations('ResponseStreamEvent', asDocumented(event))]).toEqual([event.type, []])
    }
    expect(
      (await post('/v1/responses', { model: 'sim', input: 'x', previous_response_id: 'resp_1' })).body.error.code,
    ).toBe('previous_response_not_found')
    const orphan = [{ type: 'function_call_output', call_id: 'c', output: 'x' }]
    expect((await post('/v1/responses', { model: 'sim', input: orphan })).text).toContain('No tool call found')
    expect((await post('/v1/responses/input_tokens', { model: 'sim', input: 'x'.repeat(9) })).body).toEqual({
      object: 'response.input_tokens',
      input_tokens: 3,
    })
  })

  test('moderations, images and transcriptions conform to the document', async () => {
    const moderated = (await post('/v1/moderations', { model: 'm', input: ['hello', 'flag: hate'] })).body
    expect(moderated.results.map((one: any) => [one.flagged, one.categories.hate])).toEqual([
      [false, false],
      [true, true],
    ])
    expect(deviations('CreateModerationResponse', moderated)).toEqual([])
    const painted = (
      await post('/v1/images/generations', { model: 'gpt-image-1', prompt: 'x', n: 2, size: '1024x1536' })
    ).body
    expect(deviations('ImagesResponse', painted)).toEqual([])
    const png = Buffer.from(painted.data[0].b64_json, 'base64')
    expect([painted.data.length, png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([2, 1024, 1536])
    const client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: 'k', maxRetries: 0 })
    const heard = await client.audio.transcriptions.create({
      model: 'whisper-1',
      file: await toFile(Buffer.alloc(16_000), 'a.wav'),
      response_format: 'verbose_json',
      prompt: 'say: hi',
    })
    expect(deviations('CreateTranscriptionResponseVerboseJson', heard)).toEqual([])
    expect(heard.text).toBe('hi')
    expect(simulator.truth.last()!.body).toMatchObject({
      model: 'whisper-1',
      file: { filename: 'a.wav', bytes: 16_000 },
    })
    for (const [path, body] of [
      ['images/generations', { n: 99, prompt: 'x' }],
      ['images/generations', {}],
      ['moderations', {}],
      ['audio/speech', { input: 'x' }],
      ['audio/speech', { input: 'x', voice: 'a', response_format: 'midi' }],
    ] as const)
      expect((await post(`/v1/${path}`, { model: 'm', ...body })).status).toBe(400)
  })

  test('speech is as long as its text; the fault cut applies to it', async () => {
    const speak = (model: string, input: string) =>
      fetch(`${simulator.url}/v1/audio/speech`, {
        method: 'POST',
        body: JSON.stringify({ model, input, voice: 'alloy', response_format: 'pcm' }),
      })
    const response = await speak('tts', 'x'.repeat(100))
    expect([response.headers.get('content-type'), (await response.bytes()).length]).toEqual(['audio/pcm', 48_000])
    expect(simulator.truth.last()).toMatchObject({
      finished: 'complete',
      billable: { inputTokens: 25, outputTokens: 20 },
    })
    await expect((await speak('tts#cut;at=2', 'x'.repeat(100))).bytes()).rejects.toThrow()
    expect(simulator.truth.last()).toMatchObject({ finished: 'cut', billable: { outputTokens: 0 } })
  })

  test('an unreadable form is refused with an explanation', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    const response = await fetch(`${simulator.url}/v1/audio/transcriptions`, {
      method: 'POST',
      body: 'nothing of the kind',
      headers,
    })
    expect(response.status).toBe(400)
    expect(simulator.truth.last()!.body).toBe('a form of 19 bytes that cannot be read')
  })
})
