/** What is kept of calls that failed, or that needed more than one attempt. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { ShownAttempt } from '../../src/core/ledger/attempt-list.ts'
import { until } from '../support/until.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const secret = 'upstream-key-canary-7f3a'
const entry = (name: string) =>
  `  - model_name: ${name}\n    proxy_params: { model: custom_openai/${name}, api_base: "{simulator}/v1", api_key: ${secret} }\n    model_info: { id: id-of-${name} }\n`
const config = `model_list:
${['small', 'large'].map(entry).join('')}
  - model_name: fault/*
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: ${secret} }
  - model_name: nobody
    proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1" }
router_settings: { num_retries: 0, allowed_fails: 1000, fallbacks: [{ small: [large] }] }
`

interface ShownRow {
  readonly request_id: string
  readonly error_kind: string | null
  readonly error_message: string | null
  readonly attempts: number
  readonly attempt_list: readonly ShownAttempt[] | null
  readonly metadata: { readonly error_information: object | null }
}

for (const backend of backends())
  describe(`attempts that failed, on ${backend.name}`, () => {
    let gateway: Gateway
    let key: string
    beforeAll(async () => {
      gateway = await startGateway({ backend, config })
      key = await gateway.key()
    })
    afterAll(() => gateway?.stop())
    afterEach(() => gateway.simulator.reset())

    const refuses = (model: string, message: string, status: number) =>
      gateway.simulator.script(request => request.model === model, {
        raw: { status, body: JSON.stringify({ error: { message } }) },
      })

    async function rowOf(body: object, headers: object = {}): Promise<ShownRow & { answer: string }> {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body: JSON.stringify({ messages: [{ role: 'user', content: 'say: hi' }], ...body }),
      })
      const answer = await response.text()
      const id = response.headers.get('x-proxy-call-id')!
      const [row] = await until(async () => (await gateway.rows(`&request_id=${id}`)) as unknown as ShownRow[])
      return { ...row!, answer }
    }

    test('each has deployment, status, kind and words, and the one that answered has none of these', async () => {
      refuses('small', 'the server is on fire', 500)
      const row = await rowOf({ model: 'small' })
      expect(row).toMatchObject({ error_kind: null, error_message: null, attempts: 2 })
      expect(row.attempt_list).toMatchObject([
        {
          deployment_id: 'id-of-small',
          model: 'small',
          provider: 'custom_openai',
          upstream_model: 'small',
          status: 500,
          error_kind: 'upstream-failed',
          error_message: 'the server is on fire',
        },
        { deployment_id: 'id-of-large', model: 'large', status: 200, error_kind: null, error_message: null },
      ])
      const [first, second] = row.attempt_list!
      expect(first!.started_ms).toBeGreaterThanOrEqual(0)
      expect(second!.started_ms).toBeGreaterThanOrEqual(first!.started_ms + first!.duration_ms - 1)
    })

    test('a call that fails says what its client was told, without secrets; LiteLLM has it in metadata', async () => {
      refuses('large', `Incorrect API key provided: ${secret}. ${'x'.repeat(3000)}`, 400)
      const row = await rowOf({ model: 'large' })
      expect(row.error_message).toStartWith('Incorrect API key provided: [redacted]. xxx')
      expect(row.error_message).toHaveLength(512)
      expect(row.answer).toContain('Incorrect API key provided: [redacted]. xxx')
      expect(row.metadata.error_information).toMatchObject({
        error_class: row.error_kind,
        error_message: row.error_message,
      })
      expect(row.attempt_list).toHaveLength(1)
      expect(row.attempt_list![0]!.error_message).toHaveLength(300)
      expect(JSON.stringify(row)).not.toContain(secret)
    })

    test('an upstream that does not answer has no status; a refusal before any attempt has its sentence alone', async () => {
      const unreachable = await rowOf({ model: 'nobody' })
      expect(unreachable.attempt_list).toMatchObject([
        { model: 'nobody', status: null, error_kind: 'upstream-unreachable' },
      ])
      const refused = await rowOf({ model: 'small', temperature: 'hot' })
      expect(refused).toMatchObject({ attempts: 0, attempt_list: null })
      expect(refused.error_message).toContain('temperature')
    })

    test('who refuses that anything said is kept refuses the words of upstreams too', async () => {
      refuses('large', 'I was told: say: hi', 400)
      const row = await rowOf({ model: 'large', 'no-log': true })
      expect(row.error_message).toBeNull()
      expect(row.attempt_list).toMatchObject([{ status: 400, error_message: null }])
      expect(row.error_kind).not.toBeNull()
    })

    test('a deployment that is called by its id, as tests of it do, stands there by its public name', async () => {
      const answer = await gateway.admin('/health?model_id=id-of-large')
      expect(await answer.json()).toMatchObject({ healthy_count: 1 })
      const rows = await until(async () => gateway.rows('&model_id=id-of-large&model=large'))
      expect(rows.some(row => row.key_id.includes('master') || row.key_alias === 'master')).toBe(true)
      expect(await gateway.rows('&model=id-of-large')).toEqual([])
    })

    test('an upstream that breaks off in its answer is an attempt that failed; a plain answer has no list', async () => {
      const cut = await rowOf({ model: 'fault/sim#cut', stream: true })
      expect(cut.error_kind).toBe('upstream-closed')
      expect(cut.attempt_list).toMatchObject([{ model: 'fault/*', status: 200, error_kind: 'upstream-closed' }])
      expect(cut.attempt_list![0]!.error_message).toBe(cut.error_message)
      expect(await rowOf({ model: 'large' })).toMatchObject({ error_message: null, attempt_list: null, attempts: 1 })
    })
  })
