/** Rows have what is billed: pictures, speech, transcription, reranking and kinds of tokens, call by call. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Server } from 'bun'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Row = LedgerRow & { readonly spend: number | null; readonly audio_seconds: number | null }

const config = (base: string) => `
model_list:
  - model_name: brush
    proxy_params: { model: openai/dall-e-x, api_base: "${base}/v1", api_key: k, output_cost_per_image: 0.04 }
    model_info: { mode: image_generation }
  - model_name: mouth
    proxy_params: { model: openai/tts-x, api_base: "${base}/v1", api_key: k, input_cost_per_character: 0.000015 }
    model_info: { mode: audio_speech }
  - model_name: ear
    proxy_params: { model: openai/whisper-x, api_base: "${base}/v1", api_key: k, input_cost_per_second: 0.0001 }
    model_info: { mode: audio_transcription }
  - model_name: sorter
    proxy_params: { model: cohere/rerank-x, api_base: "${base}", api_key: k, input_cost_per_query: 0.002 }
    model_info: { mode: rerank }
  - model_name: talker
    proxy_params:
      { model: openai/talk-x, api_base: "${base}/v1", api_key: k, input_cost_per_token: 0.000001,
        output_cost_per_token: 0.000002, input_cost_per_audio_token: 0.00004, output_cost_per_audio_token: 0.00008 }
  - model_name: cacher
    proxy_params:
      { model: anthropic/cache-x, api_base: "${base}", api_key: k, input_cost_per_token: 0.000003,
        output_cost_per_token: 0.000015, cache_creation_input_token_cost: 0.00000375,
        cache_creation_input_token_cost_above_1hr: 0.000006 }
router_settings: { num_retries: 0 }
`

/** Each vendor's documented answer, with the usage it reports. */
const answers: Readonly<Record<string, () => Response>> = {
  '/v1/images/generations': () =>
    Response.json({ created: 5, data: [{ b64_json: 'QUI=' }, { b64_json: 'QUI=' }, { b64_json: 'QUI=' }] }),
  '/v1/audio/speech': () => new Response(new Uint8Array(100), { headers: { 'content-type': 'audio/mpeg' } }),
  '/v1/audio/transcriptions': () =>
    Response.json({ task: 'transcribe', language: 'english', duration: 1.234567, text: 'Hi' }),
  '/v2/rerank': () =>
    Response.json({
      id: 'r',
      results: [{ index: 0, relevance_score: 0.9 }],
      meta: { api_version: { version: '2' }, billed_units: { search_units: 2 } },
    }),
  '/v1/chat/completions': () =>
    Response.json({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 5,
      model: 'talk-x',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 60 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 40 },
      },
    }),
  '/v1/messages': () =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'cache-x',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      },
    }),
}

for (const backend of backends())
  describe(`units in the ledger on ${backend.name}`, () => {
    let upstream: Server<undefined>
    let gateway: Gateway
    let key: string

    beforeAll(async () => {
      upstream = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        async fetch(request) {
          await request.bytes()
          return answers[new URL(request.url).pathname]!()
        },
      })
      gateway = await startGateway({ backend, config: config(upstream.url.href.replace(/\/$/, '')) })
      key = await gateway.key()
    })
    afterAll(async () => {
      await gateway?.stop()
      await upstream?.stop(true)
    })

    /** Makes a call and gives its row, as its own key sees it. */
    async function rowOf(path: string, body: object | FormData): Promise<Row> {
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers,
        body: body instanceof FormData ? body : JSON.stringify(body),
      })
      await response.bytes()
      expect(response.status).toBe(200)
      const found = await fetch(`${gateway.url}/spend/logs/v2?request_id=${response.headers.get('x-request-id')}`, {
        headers,
      })
      const { data } = (await found.json()) as { data: Row[] }
      expect(data.length).toBe(1)
      return data[0]!
    }

    const noUnits = {
      cache_write_one_hour_tokens: null,
      input_audio_tokens: null,
      output_audio_tokens: null,
      input_image_tokens: null,
      output_image_tokens: null,
      images: null,
      audio_microseconds: null,
      audio_seconds: null,
      characters: null,
      search_units: null,
    }
    const wav = () => {
      const form = new FormData()
      form.append('file', new File([new Uint8Array(500)], 'a.wav', { type: 'audio/wav' }))
      form.append('model', 'ear')
      form.append('response_format', 'verbose_json')
      return form
    }
    const imageRequest = { model: 'brush', prompt: 'a cat', n: 3 }
    const speechRequest = { model: 'mouth', input: 'x'.repeat(1234), voice: 'alloy' }
    const rerankRequest = { model: 'sorter', query: 'q', documents: ['a', 'b'] }
    const messages = [{ role: 'user', content: 'Hi' }]

    test('pictures', async () => {
      const row = await rowOf('/v1/images/generations', imageRequest)
      expect(row).toMatchObject({ ...noUnits, images: 3, cost_nano_usd: String(3 * 40_000_000), spend: 0.12 })
    })

    test('speech', async () => {
      const row = await rowOf('/v1/audio/speech', speechRequest)
      expect(row).toMatchObject({ ...noUnits, characters: 1234, cost_nano_usd: String(1234 * 15_000) })
    })

    test('transcription, to the microsecond', async () => {
      const row = await rowOf('/v1/audio/transcriptions', wav())
      expect(row).toMatchObject({
        ...noUnits,
        audio_microseconds: 1_234_567,
        audio_seconds: 1.234567,
        cost_nano_usd: '123457',
      })
    })

    test('reranking', async () => {
      const row = await rowOf('/v2/rerank', rerankRequest)
      expect(row).toMatchObject({ ...noUnits, search_units: 2, cost_nano_usd: String(2 * 2_000_000) })
    })

    test('tokens with a price of their own', async () => {
      const talk = await rowOf('/v1/chat/completions', { model: 'talker', messages })
      expect(talk).toMatchObject({ ...noUnits, input_tokens: 100, input_audio_tokens: 60, output_audio_tokens: 40 })
      expect(talk.cost_nano_usd).toBe(String(40 * 1000 + 60 * 40_000 + 10 * 2000 + 40 * 80_000))
      const cached = await rowOf('/v1/messages', { model: 'cacher', max_tokens: 9, messages })
      expect(cached).toMatchObject({
        ...noUnits,
        input_tokens: 310,
        cache_write_tokens: 300,
        cache_write_one_hour_tokens: 200,
      })
      expect(cached.cost_nano_usd).toBe(String(10 * 3000 + 100 * 3750 + 200 * 6000 + 5 * 15_000))
    })

    test('the metrics count them', async () => {
      const counts = async () => {
        const text = await (await gateway.admin('/metrics')).text()
        const count = (unit: string) =>
          Number(new RegExp(`^modelgate_units_total\\{[^}]*unit="${unit}"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
        return ['images', 'characters', 'search_units', 'audio_seconds'].map(count)
      }
      const before = await counts()
      await rowOf('/v1/images/generations', imageRequest)
      await rowOf('/v1/audio/speech', speechRequest)
      await rowOf('/v2/rerank', rerankRequest)
      await rowOf('/v1/audio/transcriptions', wav())
      const more = (await counts()).map((count, at) => Math.round((count - before[at]!) * 1e6) / 1e6)
      expect(more).toEqual([3, 1234, 2, 1.234567])
    })

    test('the documentation has every field of a row, and no other', async () => {
      const row = await rowOf('/v2/rerank', rerankRequest)
      const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
        components: { schemas: Record<string, { properties: object }> }
      }
      expect(Object.keys(document.components.schemas.SpendLog!.properties).sort()).toEqual(Object.keys(row).sort())
    })
  })
