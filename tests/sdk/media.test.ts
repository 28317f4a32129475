/**
 * Moderation, pictures, speech and transcription by official clients, against the providers of the simulator that have
 * them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { GoogleGenAI, Modality } from '@google/genai'
import { Mistral } from '@mistralai/mistralai'
import Groq from 'groq-sdk'
import OpenAI, { toFile } from 'openai'
import { expectConforms } from '../support/openai-conformance.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { pixel } from './matrix/client.ts'

const config = `
model_list:
  - { model_name: openai-judge, proxy_params: { model: openai/omni-moderation-latest, api_base: "{simulator}/v1", api_key: k }, model_info: { mode: moderation } }
  - { model_name: mistral-judge, proxy_params: { model: mistral/mistral-moderation-latest, api_base: "{simulator}/mistral/v1", api_key: k }, model_info: { mode: moderation } }
  - { model_name: openai-paint, proxy_params: { model: openai/gpt-image-1, api_base: "{simulator}/v1", api_key: k }, model_info: { mode: image_generation } }
  - { model_name: azure-paint, proxy_params: { model: azure/dall-e-3, api_base: "{simulator}", api_key: k }, model_info: { mode: image_generation } }
  - { model_name: gemini-paint, proxy_params: { model: gemini/gemini-2.5-flash-image, api_base: "{simulator}", api_key: k, drop_params: true }, model_info: { mode: image_generation } }
  - { model_name: imagen-paint, proxy_params: { model: gemini/imagen-4.0-generate-001, api_base: "{simulator}", api_key: k, drop_params: true }, model_info: { mode: image_generation } }
  - { model_name: vertex-paint, proxy_params: { model: vertex_ai/imagen-4.0-generate-001, api_base: "{simulator}", api_key: k, vertex_project: p, drop_params: true }, model_info: { mode: image_generation } }
  - { model_name: gemini-draw, proxy_params: { model: gemini/gemini-2.5-flash-image, api_base: "{simulator}", api_key: k } }
  - { model_name: openrouter-draw, proxy_params: { model: openrouter/google/gemini-2.5-flash-image, api_base: "{simulator}/v1", api_key: k } }
  - { model_name: openai-speak, proxy_params: { model: openai/gpt-4o-mini-tts, api_base: "{simulator}/v1", api_key: k }, model_info: { mode: audio_speech } }
  - { model_name: groq-speak, proxy_params: { model: groq/playai-tts, api_base: "{simulator}/openai/v1", api_key: k }, model_info: { mode: audio_speech } }
  - { model_name: gemini-speak, proxy_params: { model: gemini/gemini-2.5-flash-preview-tts, api_base: "{simulator}", api_key: k, drop_params: true }, model_info: { mode: audio_speech } }
  - { model_name: openai-hear, proxy_params: { model: openai/gpt-4o-transcribe, api_base: "{simulator}/v1", api_key: k }, model_info: { mode: audio_transcription } }
  - { model_name: groq-hear, proxy_params: { model: groq/whisper-large-v3, api_base: "{simulator}/openai/v1", api_key: k }, model_info: { mode: audio_transcription } }
  - { model_name: mistral-hear, proxy_params: { model: mistral/voxtral-mini-latest, api_base: "{simulator}/mistral/v1", api_key: k }, model_info: { mode: audio_transcription } }
  - { model_name: azure-hear, proxy_params: { model: azure/whisper, api_base: "{simulator}", api_key: k }, model_info: { mode: audio_transcription } }
  - { model_name: limited, proxy_params: { model: "openai/gpt-image-1", api_base: "{simulator}/v1", api_key: k, extra_headers: { x-simulate: "429" } } }
router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0 }
`
const isPng = (base64: string | undefined): boolean =>
  Buffer.from(base64 ?? '', 'base64')
    .subarray(1, 4)
    .toString('latin1') === 'PNG'
const sound = () => toFile(Buffer.alloc(32_000, 7), 'speech.wav', { type: 'audio/wav' })

let gateway: Gateway
let openai: OpenAI
let groq: Groq
let google: GoogleGenAI
let mistral: Mistral

beforeAll(async () => {
  gateway = await startGateway({ config })
  const apiKey = await gateway.key()
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
  groq = new Groq({ baseURL: gateway.url, apiKey, maxRetries: 0 })
  google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url } })
  mistral = new Mistral({ serverURL: gateway.url, apiKey, retryConfig: { strategy: 'none' } })
})
afterAll(() => gateway?.stop())

const truth = () => gateway.simulator.truth.last()!

describe('moderations', () => {
  for (const [model, flagged] of [
    ['openai-judge', 'violence'],
    ['mistral-judge', 'violence_and_threats'],
  ] as const)
    test(`${model}: every input is judged, by openai's client`, async () => {
      const { results, model: named } = await openai.moderations.create({
        model,
        input: ['a nice day', 'I will kill the process'],
      })
      expect(results.map(one => one.flagged)).toEqual([false, true])
      expect((results[1]!.categories as unknown as Record<string, boolean>)[flagged]).toBe(true)
      expect(named).toBe(model)
      expect(truth().body).toMatchObject({ input: ['a nice day', 'I will kill the process'] })
    })

  test("mistral-judge: by Mistral's client", async () => {
    const { results } = await mistral.classifiers.moderate({
      model: 'mistral-judge',
      inputs: ['I will kill the process'],
    })
    expect(results[0]!.categories!.violence_and_threats).toBe(true)
  })
})

describe('pictures', () => {
  for (const model of ['openai-paint', 'gemini-paint', 'imagen-paint', 'vertex-paint'])
    test(`${model}: bytes of a picture`, async () => {
      const answer = await openai.images.generate({ model, prompt: 'a red fox', size: '1024x1024' })
      expect(answer.data!.map(one => isPng(one.b64_json))).toEqual([true])
      expectConforms('ImagesResponse', answer)
    })

  test('azure-paint: an address', async () => {
    const answer = await openai.images.generate({ model: 'azure-paint', prompt: 'a red fox' })
    expect(answer.data![0]!.url).toStartWith('https://')
    expect(truth().path).toStartWith('/openai/deployments/dall-e-3/images/generations?api-version=')
  })

  test('openai-paint: what comes before the picture is done', async () => {
    const types: string[] = []
    const stream = await openai.images.generate({
      model: 'openai-paint',
      prompt: 'a red fox',
      stream: true,
      partial_images: 2,
    })
    for await (const event of stream) types.push(event.type)
    expect(types).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
  })

  test('openai-paint: an edit of a picture', async () => {
    const image = await toFile(Buffer.from(pixel, 'base64'), 'pixel.png', { type: 'image/png' })
    const answer = await openai.images.edit({ model: 'openai-paint', image, prompt: 'make it blue' })
    expect(isPng(answer.data![0]!.b64_json)).toBe(true)
    expect(truth().body).toMatchObject({ prompt: 'make it blue', image: { filename: 'pixel.png', type: 'image/png' } })
  })

  test('a chat that answers with a picture, in both dialects', async () => {
    for (const model of ['gemini-draw', 'openrouter-draw']) {
      const asked = {
        model,
        messages: [{ role: 'user' as const, content: 'say: here it is' }],
        modalities: ['image', 'text'],
      }
      const { choices } = await openai.chat.completions.create(
        asked as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming,
      )
      const { content, images } = choices[0]!.message as { content: string; images?: { image_url: { url: string } }[] }
      expect([content, images?.length]).toEqual(['here it is', 1])
      expect(isPng(images![0]!.image_url.url.replace('data:image/png;base64,', ''))).toBe(true)
    }
    const config = { responseModalities: [Modality.TEXT, Modality.IMAGE] }
    const { candidates } = await google.models.generateContent({
      model: 'gemini-draw',
      contents: 'say: here it is',
      config,
    })
    const parts = candidates![0]!.content!.parts!
    expect([parts[0]!.text, isPng(parts[1]!.inlineData!.data)]).toEqual(['here it is', true])
  })

  test('a refusal has its class', async () => {
    const error = await openai.images.generate({ model: 'limited', prompt: 'x' }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(OpenAI.RateLimitError)
  })
})

describe('speech', () => {
  test('openai-speak: the bytes of the format asked for', async () => {
    for (const [format, magic, type] of [
      ['mp3', '\xff\xfb', 'audio/mpeg'],
      ['wav', 'RIFF', 'audio/wav'],
    ] as const) {
      const answer = await openai.audio.speech.create({
        model: 'openai-speak',
        voice: 'alloy',
        input: 'Hello there',
        response_format: format,
      })
      expect(answer.headers.get('content-type')).toBe(type)
      expect(
        Buffer.from(await answer.arrayBuffer())
          .subarray(0, magic.length)
          .toString('latin1'),
      ).toBe(magic)
      expect(truth().finished).toBe('complete')
    }
  })

  test("groq-speak: by Groq's client", async () => {
    const answer = await groq.audio.speech.create({
      model: 'groq-speak',
      voice: 'Fritz',
      input: 'Hello there',
      response_format: 'wav',
    })
    expect(
      Buffer.from(await answer.arrayBuffer())
        .subarray(0, 4)
        .toString('latin1'),
    ).toBe('RIFF')
  })

  test('gemini-speak: samples become a file', async () => {
    const answer = await openai.audio.speech.create({
      model: 'gemini-speak',
      voice: 'Kore',
      input: 'say: Hello there',
      response_format: 'wav',
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect([bytes.subarray(0, 4).toString('latin1'), bytes.readUInt32LE(24), bytes.length > 44]).toEqual([
      'RIFF',
      24_000,
      true,
    ])
  })
})

describe('transcriptions', () => {
  for (const model of ['openai-hear', 'groq-hear', 'mistral-hear', 'azure-hear'])
    test(`${model}: the file arrives as it was sent`, async () => {
      const { text } = await openai.audio.transcriptions.create({
        model,
        file: await sound(),
        prompt: 'say: it was said',
      })
      expect(text).toBe('it was said')
      expect(truth().body).toMatchObject({ file: { filename: 'speech.wav', bytes: 32_000 } })
    })

  test("groq-hear: by Groq's client", async () => {
    const { text } = await groq.audio.transcriptions.create({
      model: 'groq-hear',
      file: await sound(),
      prompt: 'say: it was said',
    })
    expect(text).toBe('it was said')
  })

  test('openai-hear: word by word', async () => {
    const deltas: string[] = []
    const stream = await openai.audio.transcriptions.create({
      model: 'openai-hear',
      file: await sound(),
      prompt: 'say: it was said',
      stream: true,
    })
    for await (const event of stream) if (event.type === 'transcript.text.delta') deltas.push(event.delta)
    expect([deltas.join(''), deltas.length > 1]).toEqual(['it was said', true])
  })

  test('groq-hear: subtitles and details', async () => {
    const body = { model: 'groq-hear', prompt: 'say: it was said' }
    const subtitles = await openai.audio.transcriptions.create({ ...body, file: await sound(), response_format: 'vtt' })
    expect(subtitles as unknown as string).toStartWith('WEBVTT\n')
    const details = await openai.audio.transcriptions.create({
      ...body,
      file: await sound(),
      response_format: 'verbose_json',
    })
    expect([details.duration as number, details.segments![0]!.text]).toEqual([2, 'it was said'])
  })
})
