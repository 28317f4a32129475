/** `litellm_metric_names: true`: dashboards and alerts that were made for LiteLLM find its metrics. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config: `${standardConfig}general_settings: { litellm_metric_names: true }\n` })
})
afterAll(() => gateway?.stop())

async function call(model: string, stream = false): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await gateway.key()}` },
    body: JSON.stringify({ model, stream, max_tokens: 20, messages: [{ role: 'user', content: 'say: hi' }] }),
  })
  await response.text()
}

/** The sum of the series whose labels hold all of `labels`; undefined = there is none. */
function sumOf(text: string, name: string, ...labels: string[]): number | undefined {
  const found = text
    .split('\n')
    .filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter(line => labels.every(label => line.includes(label)))
  return found.length === 0
    ? undefined
    : found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

test('each figure is ours under the name and the labels that LiteLLM has', async () => {
  await call('chat-model')
  await call('chat-model', true)
  await call('nobody')
  const text = await (await fetch(`${gateway.url}/metrics`)).text()
  const total = 'litellm_proxy_total_requests_metric_total'
  expect(sumOf(text, total, 'requested_model="chat-model"', 'model_id="chat-deployment"', 'status_code="200"')).toBe(2)
  expect(sumOf(text, total)).toBe(3)
  expect(sumOf(text, 'litellm_proxy_failed_requests_metric_total', 'requested_model="nobody"')).toBe(1)
  expect(sumOf(text, 'litellm_proxy_failed_requests_metric_total', 'requested_model="chat-model"')).toBeUndefined()
  const id = 'model_id="chat-deployment"'
  expect(sumOf(text, 'litellm_deployment_success_responses_total', id)).toBe(2)
  expect(sumOf(text, 'litellm_deployment_failure_responses_total', id)).toBeUndefined()
  expect(sumOf(text, 'litellm_spend_metric_total', id)).toBe(
    sumOf(text, 'modelgate_spend_usd_total', 'chat-deployment')!,
  )
  const [input, output] = ['input', 'output'].map(one => sumOf(text, `litellm_${one}_tokens_metric_total`, id)!)
  expect(input).toBeGreaterThan(0)
  expect(sumOf(text, 'litellm_total_tokens_metric_total', id)).toBe(input! + output!)
  expect(sumOf(text, 'litellm_request_total_latency_metric_count', id)).toBe(2)
  expect(sumOf(text, 'litellm_request_total_latency_metric_bucket', id, 'le="+Inf"')).toBe(2)
  expect(sumOf(text, 'litellm_llm_api_time_to_first_token_metric_count', id)).toBe(1)
  expect(sumOf(text, 'litellm_deployment_state', id)).toBe(0)
  // Each metric is described once, and no series stands twice.
  const lines = text.split('\n').filter(line => line.includes('litellm_'))
  const series = lines.map(line => (line.startsWith('#') ? line : line.slice(0, line.lastIndexOf(' '))))
  expect(new Set(series).size).toBe(series.length)
})
