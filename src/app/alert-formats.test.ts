import { expect, test } from 'bun:test'
import { alertMessage } from './alert-formats.ts'

const began = {
  id: 'database@5:began',
  event: 'trouble_began',
  event_group: 'gateway',
  event_message: 'the database <cannot> be reached & rows wait',
  text: 'not shown twice',
  subject: 'database',
  host: 'gw-1',
  until: null,
}
const body = (url: string, event = began) => alertMessage(url, event).body as Record<string, unknown>

test('Slack gets blocks, with its signs escaped', () => {
  const message = body('https://hooks.slack.com/services/T/B/x')
  expect(message.text as string).toBe('Modelgate: the database &lt;cannot&gt; be reached &amp; rows wait')
  const blocks = message.blocks as { type: string; fields?: { text: string }[] }[]
  expect(blocks.map(one => one.type)).toEqual(['header', 'section', 'section'])
  expect(blocks[2]!.fields!.map(one => one.text)).toEqual([
    '*event group*\ngateway',
    '*subject*\ndatabase',
    '*host*\ngw-1',
  ])
})

test('Discord gets an embed within its lengths, and no mention', () => {
  const message = body('https://discord.com/api/webhooks/1/x', { ...began, event_message: '@everyone '.repeat(1000) })
  expect(message.allowed_mentions as object).toEqual({ parse: [] })
  const [embed] = message.embeds as { title: string; description: string; fields: object[] }[]
  expect([embed!.title.length, embed!.description.length, embed!.fields.length]).toEqual([256, 4096, 3])
})

test('Teams gets an adaptive card, at workflows and at connectors', () => {
  for (const url of [
    'https://x.webhook.office.com/webhookb2/a',
    'https://prod-1.westus.logic.azure.com/workflows/a?sig=b',
  ]) {
    const [attachment] = body(url).attachments as { contentType: string; content: { type: string; body: object[] } }[]
    expect(attachment!.contentType).toBe('application/vnd.microsoft.card.adaptive')
    expect(attachment!.content).toMatchObject({ type: 'AdaptiveCard', version: '1.4' })
    expect(attachment!.content.body[1]).toMatchObject({ facts: [{ title: 'event group', value: 'gateway' }, {}, {}] })
    expect(alertMessage(url, began).url).toBe(url)
  }
})

test('PagerDuty is triggered, and resolved under the same key; the key of the integration is in the body alone', () => {
  const url = 'https://events.eu.pagerduty.com/v2/enqueue?routing_key=R1'
  const made = alertMessage(url, began)
  expect(made.url).toBe('https://events.eu.pagerduty.com/v2/enqueue')
  expect(made.body).toMatchObject({
    routing_key: 'R1',
    event_action: 'trigger',
    payload: { source: 'gw-1', severity: 'critical', class: 'database' },
  })
  const ended = alertMessage(url, { ...began, id: 'database@5:ended', event: 'trouble_ended' } as typeof began)
  expect(ended.body).toMatchObject({ event_action: 'resolve', dedup_key: 'modelgate database@5' })
  expect((made.body as { dedup_key: string }).dedup_key).toBe('modelgate database@5')
})

test('any other address gets the event, with a text for chat tools', () => {
  const { id, event, event_message } = began
  expect(alertMessage('https://alerts.example.com/x', { id, event, event_message })).toEqual({
    url: 'https://alerts.example.com/x',
    body: { id, event, event_message, text: `Modelgate: ${event_message}` },
  })
  // No host that only looks alike.
  expect(body('https://hooks.slack.com.example.com/x').blocks).toBeUndefined()
})
