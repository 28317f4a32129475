/** Alerts of soft budgets: sent until they are taken, under one id. */
import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { startSmtpSink } from '../../tests/support/network/smtp-sink.ts'
import { createHttp1Transport } from '../http/client/client.ts'
import { budgetOf } from '../store/limits/budget-fixture.ts'
import { systemClock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/log.ts'
import { createAlertDelivery } from './alert-delivery.ts'
import { createBudgetAlerts } from './budget-alerts.ts'
import { createMailer, withLog } from './mail.ts'
import { until } from '../../tests/support/until.ts'

const webhookSecret = `whsec_${Buffer.from('a secret of the operator, of 32 B').toString('base64')}`
const verifier = new Webhook(webhookSecret)
const sent = { clock: systemClock, webhookSecret }

test('an alert is signed, sent again until it is taken, and says whose money it is', async () => {
  const heard: Record<string, unknown>[] = []
  const ids: (string | null)[] = []
  const errors: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.text()
      // Throws where it is not signed, or long ago.
      heard.push(verifier.verify(body, Object.fromEntries(request.headers)) as Record<string, unknown>)
      expect(() => verifier.verify(`${body} `, Object.fromEntries(request.headers))).toThrow()
      ids.push(request.headers.get('webhook-id'))
      return new Response('', { status: heard.length < 2 ? 503 : 204 })
    },
  })
  const transport = createHttp1Transport()
  let webhookUrls: string[] = []
  const logger = { error: (message: string) => errors.push(message) } as unknown as Logger
  const tell = createBudgetAlerts({
    deliver: createAlertDelivery({ ...sent, transport, mailer: undefined, logger }),
    settings: () => ({ webhookUrls, alertEmails: [] }),
  })
  const scope = budgetOf(5_000_000_000, { id: 'team:x', startMs: 1_764_547_200_000, softNanoUsd: 2_500_000_000 })
  tell({ scope, spentNanoUsd: 1 })
  webhookUrls = [`http://127.0.0.1:${server.port}/alerts`]
  tell({ scope, spentNanoUsd: 2_600_000_000 })
  await until(() => heard.length === 2, 'it took the alert')
  expect(heard[1]).toEqual(heard[0]!)
  expect(ids).toEqual([expect.stringMatching(/^alert_[0-9a-f]{32}$/), ids[0]!])
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

test('a mail goes to all addresses at once, again when the server takes none, and says what was spent', async () => {
  const sink = startSmtpSink({ refusals: 1 })
  const transport = createHttp1Transport()
  const errors: string[] = []
  const logger = { error: (message: string) => errors.push(message) } as unknown as Logger
  const environment = { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(sink.port), SMTP_SENDER_EMAIL: 'gateway@example.com' }
  const alertEmails = ['ops@example.com', 'money@example.com']
  const settings = () => ({ webhookUrls: [], alertEmails })
  const tell = createBudgetAlerts({
    deliver: createAlertDelivery({ ...sent, transport, mailer: createMailer(environment), logger }),
    settings,
  })
  const scope = budgetOf(5_000_000_000, { id: 'team:x', startMs: 1_764_547_200_000, softNanoUsd: 2_500_000_000 })
  tell({ scope, spentNanoUsd: 2_600_000_000 })
  await until(() => sink.received.length === 1, 'the mail was taken')
  expect(sink.received[0]).toMatchObject({ from: 'gateway@example.com', to: alertEmails })
  expect(sink.received[0]!.data).toContain('Subject: Soft budget crossed: team:x')
  expect(sink.received[0]!.data.replaceAll(/=?\r\n/g, '')).toContain('team:x has spent 2.6 US dollars')
  expect(errors).toEqual([])
  transport.close()
  sink.stop()
})

test('an alert that cannot be mailed for want of a server is in the log', () => {
  const errors: string[] = []
  const logger = { error: (message: string) => errors.push(message) } as unknown as Logger
  const settings = () => ({ webhookUrls: [], alertEmails: ['ops@example.com'] })
  const transport = createHttp1Transport()
  const deliver = createAlertDelivery({ ...sent, transport, mailer: createMailer({}), logger })
  createBudgetAlerts({ deliver, settings })({
    scope: budgetOf(5_000_000_000, { softNanoUsd: 1 }),
    spentNanoUsd: 2,
  })
  expect(errors).toEqual(['an alert of a budget could not be mailed: set SMTP_HOST and SMTP_SENDER_EMAIL'])
  transport.close()
})

test('a mail server without a port or a sender is refused with the remedy, and the error of a refused mail has no secret', async () => {
  expect(() => createMailer({ SMTP_HOST: 'mail', SMTP_PORT: 'x', SMTP_SENDER_EMAIL: 'a@b' })).toThrow('SMTP_PORT')
  expect(() => createMailer({ SMTP_HOST: 'mail' })).toThrow('SMTP_SENDER_EMAIL')
  const sink = startSmtpSink()
  const mailer = createMailer({
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(sink.port),
    SMTP_SENDER_EMAIL: 'gateway@example.com',
    SMTP_PASSWORD: 'secret-canary',
    SMTP_TLS: 'True',
  })!
  // The sink has no TLS: nothing is sent to it.
  const sending = mailer.send({ to: ['ops@example.com'], subject: 's', text: 't' })
  await expect(sending).rejects.toThrow(/127\.0\.0\.1:\d+ did not take a mail: ((?!canary).)*$/)
  expect(sink.received).toEqual([])
  const warnings: unknown[] = []
  const logged = withLog(mailer, { warn: (message, fields) => void warnings.push({ message, ...fields }) })
  await expect(logged.send({ to: ['ops@example.com'], subject: 's', text: 't' })).rejects.toThrow('did not take a mail')
  expect(warnings).toEqual([{ message: 'a mail could not be sent', reason: expect.stringContaining('did not take') }])
  sink.stop()
})
