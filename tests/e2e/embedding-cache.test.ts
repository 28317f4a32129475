/** Embeddings are kept input by input: what of a list is known is not asked for again, in memory and over Redis. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { CountingUpstream } from '../support/upstreams/counting-upstream.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

const redisUrl = process.env.TEST_REDIS_URL
if (redisUrl === undefined) console.log('skipped: kept embeddings over Redis (set TEST_REDIS_URL)')
const upstream = new CountingUpstream()
afterAll(() => upstream.stop())

for (const kind of ['local', ...(redisUrl === undefined ? [] : ['redis'])])
  describe(kind, () => {
    let gateway: Gateway
    let key: string
    beforeAll(async () => {
      const redis = `, url: "${redisUrl}", namespace: test-${crypto.randomUUID()}, socket_timeout: 30`
      const vectors = (id: string) => `
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k, input_cost_per_token: 0.001 }
    model_info: { mode: embedding, id: ${id} }`
      gateway = await startGateway({
        config: `
model_list:
  - model_name: vectors${vectors('one')}
  - model_name: careful${vectors('two')}
router_settings: { num_retries: 0, fallbacks: [{ careful: [vectors] }] }
litellm_settings:
  cache: true
  cache_params: { type: ${kind}${kind === 'redis' ? redis : ''} }
`,
      })
      key = await gateway.key()
    })
    afterAll(() => gateway?.stop())
    beforeEach(() => upstream.clear())

    let texts = 0
    /** Texts of one word that were never sent before; each has another vector. */
    const fresh = (count: number): string[] => Array.from({ length: count }, () => `word${wordOf(++texts)}`)
    const send = (input: unknown, more: Json = {}, as = key) =>
      fetch(`${gateway.url}/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${as}` },
        body: JSON.stringify({ model: 'vectors', input, ...more }),
      })
    const embed = async (input: unknown, more: Json = {}, as = key) => {
      const response = await send(input, more, as)
      const body = (await response.json()) as Json
      expect([response.status, body]).toEqual([200, expect.anything()])
      return {
        vectors: body.data.map((one: Json) => one.embedding) as unknown[],
        places: body.data.map((one: Json) => one.index) as number[],
        usage: body.usage as Json,
        isHit: response.headers.get('x-proxy-cache-hit') === 'true',
        known: response.headers.get('x-proxy-cached-inputs'),
        cost: response.headers.get('x-proxy-response-cost'),
        id: response.headers.get('x-proxy-call-id'),
        key: response.headers.get('x-proxy-cache-key')!,
      }
    }
    const asked = () => upstream.asked.map(({ body }) => body.input as unknown)

    test('of a list with known inputs the others alone are asked for, and the order stays', async () => {
      const [a, b, c, d] = fresh(4) as [string, string, string, string]
      const first = await embed([a, b])
      const second = await embed([c, b, d, a, c])
      expect(asked()).toEqual([
        [a, b],
        [c, d],
      ])
      const third = await embed([d, c, b, a])
      expect([third.isHit, upstream.count]).toEqual([true, 2])
      expect(second.places).toEqual([0, 1, 2, 3, 4])
      expect([second.vectors[3], second.vectors[1]]).toEqual(first.vectors)
      expect(second.vectors[0]).toEqual(second.vectors[4])
      expect(third.vectors).toEqual([2, 0, 1, 3].map(at => second.vectors[at]))
      expect(new Set(third.vectors.map(one => JSON.stringify(one))).size).toBe(4)
      expect([first.known, second.known, third.known]).toEqual([null, '2', null])
    })

    test('usage is that of the whole list, cost and the row those of what was asked for', async () => {
      const [a, b, c] = fresh(3) as [string, string, string]
      expect(await embed([a, b])).toMatchObject({ usage: { prompt_tokens: 6 }, cost: '0.006' })
      const part = await embed([a, b, c])
      expect(part).toMatchObject({ usage: { prompt_tokens: 9, total_tokens: 9 }, cost: '0.003' })
      const hit = await embed([c, a])
      expect(hit).toMatchObject({ usage: { prompt_tokens: 6 }, cost: '0', isHit: true })
      const rows = async () =>
        (await gateway.rows()).filter(one => [part.id, hit.id].includes(one.request_id as string))
      await until(async () => (await rows()).length === 2, 'both rows are there')
      const of = async (id: string | null) => (await rows()).find(one => one.request_id === id)
      expect(await of(part.id)).toMatchObject({
        cost_nano_usd: '3000000',
        prompt_tokens: 3,
        cache_hit_kind: null,
        saved_nano_usd: '6000000',
      } as Json)
      expect(await of(hit.id)).toMatchObject({
        cost_nano_usd: '0',
        cache_hit_kind: 'exact',
        saved_nano_usd: '6000000',
      } as Json)
    })

    test('a budget that is spent still gives what is known, and nothing else', async () => {
      const spent = await gateway.key({ max_budget: 0.5 })
      const known = fresh(20)
      await embed(known, {}, spent)
      let asked = 0
      while ((await send(fresh(20), {}, spent)).status === 200) asked++
      expect(asked).toBeGreaterThan(0)
      expect((await embed(known, {}, spent)).isHit).toBe(true)
      // What is left is too little for 20 inputs, and enough for one beside the known ones.
      expect(await embed([...known, ...fresh(1)], {}, spent)).toMatchObject({ known: '20', cost: '0.003' })
    })

    test('dimensions, encoding_format and other fields are another question', async () => {
      const [a] = fresh(1)
      await embed(a)
      for (const more of [{ dimensions: 8 }, { encoding_format: 'base64' }, { user: 'u' }, { input_type: 'query' }])
        expect([more, (await embed([a], more)).isHit, (await embed([a], more)).isHit]).toEqual([more, false, true])
      expect((await embed([a], { encoding_format: 'float' })).isHit).toBe(true)
      expect(upstream.count).toBe(5)
    })

    test('token ids are kept by list', async () => {
      const ids = [
        [1, 2, texts + 10],
        [3, 4],
      ]
      await embed(ids)
      await embed([[3, 4], [5]])
      expect(asked()).toEqual([ids, [[5]]])
      expect((await embed([1, 2, texts + 10])).isHit).toBe(true)
    })

    test('other tenants share nothing', async () => {
      const [a, b] = fresh(2)
      await embed([a, b])
      expect((await embed([a, b], {}, await gateway.key())).isHit).toBe(false)
    })

    test('no-cache asks for all, no-store keeps nothing, s-maxage takes nothing older', async () => {
      const [a, b] = fresh(2)
      await embed([a], { cache: { 'no-store': true } })
      expect((await embed([a])).isHit).toBe(false)
      await embed([a, b], { cache: { 'no-cache': true } })
      await embed([b, a], { cache: { 's-maxage': 0 } })
      expect(asked()).toEqual([[a], [a], [a, b], [b, a]])
    })

    test('a model with fallbacks is asked for the whole list: embeddings of two models are not mixed', async () => {
      const [a, b] = fresh(2)
      await embed([a], { model: 'careful' })
      await embed([a, b, a], { model: 'careful' })
      expect(asked()).toEqual([[a], [a, b, a]])
      expect((await embed([b, a], { model: 'careful' })).isHit).toBe(true)
    })

    test('what is deleted by the key of a list is asked for again', async () => {
      const [a, b] = fresh(2)
      const { key: list } = await embed([a, b])
      expect((await gateway.admin('/cache/delete', { keys: [list] })).status).toBe(200)
      expect((await embed([a])).isHit).toBe(false)
    })

    describe("in Gemini's dialect", () => {
      const request = (text: string, more: Json = {}): Json => ({ content: { parts: [{ text }] }, ...more })
      const gemini = async (action: string, body: Json) => {
        const response = await fetch(`${gateway.url}/v1beta/models/vectors:${action}`, {
          method: 'POST',
          headers: { 'x-goog-api-key': key },
          body: JSON.stringify(body),
        })
        const answer = (await response.json()) as Json
        expect([response.status, answer]).toEqual([200, expect.anything()])
        const isHit = response.headers.get('x-proxy-cache-hit') === 'true'
        const cost = response.headers.get('x-proxy-response-cost')
        return { answer, isHit, cost, known: response.headers.get('x-proxy-cached-inputs') }
      }
      const batch = (texts: readonly string[], more: Json = {}) =>
        gemini('batchEmbedContents', { requests: texts.map(text => request(text, more)) })

      test('of a list with known requests the others alone are asked for, and the order stays', async () => {
        const [a, b, c] = fresh(3) as [string, string, string]
        const first = await batch([a, b], { model: 'models/vectors' })
        const second = await batch([c, b, a])
        const third = await batch([a, c, a])
        expect(asked()).toEqual([[a, b], [c]])
        const [ofA, ofB] = first.answer.embeddings
        const [ofC] = second.answer.embeddings
        expect(second.answer).toEqual({ embeddings: [ofC, ofB, ofA], usageMetadata: tokens(9) })
        expect(third.answer).toEqual({ embeddings: [ofA, ofC, ofA], usageMetadata: tokens(9) })
        expect(new Set([ofA, ofB, ofC].map(one => JSON.stringify(one))).size).toBe(3)
        expect([first, second, third].map(({ isHit, known, cost }) => [isHit, known, cost])).toEqual([
          [false, null, '0.006'],
          [false, '2', '0.003'],
          [true, null, '0'],
        ])
      })

      test('one content and a list of them share what is known', async () => {
        const [a, b] = fresh(2) as [string, string]
        const single = await gemini('embedContent', request(a))
        const list = await batch([a, b])
        expect(list.answer.embeddings[0]).toEqual(single.answer.embedding)
        const again = await gemini('embedContent', request(b))
        expect([again.isHit, again.answer]).toEqual([
          true,
          { embedding: list.answer.embeddings[1], usageMetadata: tokens(3) },
        ])
        expect(asked()).toEqual([[a], [b]])
      })

      test('settings of a request are another question', async () => {
        const [a] = fresh(1) as [string]
        for (const more of [{}, { outputDimensionality: 8 }, { taskType: 'RETRIEVAL_QUERY' }, { title: 'T' }])
          expect([more, (await batch([a], more)).isHit, (await batch([a], more)).isHit]).toEqual([more, false, true])
      })
    })

    test('50 equal lists at once are asked for once', async () => {
      const input = fresh(3)
      upstream.hold()
      const calls = Array.from({ length: 50 }, () => embed(input))
      await until(() => upstream.count > 0, 'the first has arrived')
      upstream.release()
      const answers = await Promise.all(calls)
      expect([upstream.count, new Set(answers.map(one => JSON.stringify(one.vectors))).size]).toEqual([1, 1])
    })

    test('an upstream that answers for fewer inputs than were asked for breaks the call, and is not kept', async () => {
      const [a, b] = fresh(2)
      await embed([a])
      upstream.fewer = true
      const response = await send([a, b, ...fresh(1)])
      upstream.fewer = false
      expect(response.status).toBe(502)
      expect((await embed([b])).isHit).toBe(false)
    })
  })

const tokens = (count: number): Json => ({ promptTokenCount: count, totalTokenCount: count })

/** Letters alone: the upstream's vectors know no digits. */
const wordOf = (number: number): string => [...String(number)].map(one => 'abcdefghij'[Number(one)]).join('')
