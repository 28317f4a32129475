/** The webhook of soft budgets: told until it takes the alert, under one id. */
import { expect, test } from 'bun:test'
import { until } from '../../tests/raw-upstream.ts'
import { createHttp1Transport } from '../http/client/client.ts'
import { budgetOf } from '../store/limits/budget-fixture.ts'
import type { Logger } from '../telemetry/log.ts'
import { createBudgetWebhook } from './budget-webhook.ts'

test('an alert is sent again until it is taken, and says whose money it is', async () => {
  const heard: Record<string, unknown>[] = []
  const errors: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      heard.push((await request.json()) as Record<string, unknown>)
      return new Response('', { status: heard.length < 2 ? 503 : 204 })
    },
  })
  const transport = createHttp1Transport()
  let webhookUrls: string[] = []
  const logger = { error: (message: string) => errors.push(message) } as unknown as Logger
  const tell = createBudgetWebhook({ transport, logger, settings: () => ({ webhookUrls }) })
  const scope = budgetOf(5_000_000_000, { id: 'team:x', startMs: 1_764_547_200_000, softNanoUsd: 2_500_000_000 })
  tell({ scope, spentNanoUsd: 1 })
  webhookUrls = [`http://127.0.0.1:${server.port}/alerts`]
  tell({ scope, spentNanoUsd: 2_600_000_000 })
  await until(() => heard.length === 2, 'it took the alert', 5000)
  expect(heard[1]).toEqual(heard[0]!)
  expect(heard[0]).toMatchObject({
    id: 'team:x@1764547200000',
    event: 'soft_budget_crossed',
    event_group: 'team',
    team_id: 'x',
    spend: 2.6,
    soft_budget: 2.5,
    max_budget: 5,
    budget_reset_at: '2025-12-02T00:00:00.000Z',
  })
  expect(errors).toEqual([])
  transport.close()
  await server.stop(true)
})
