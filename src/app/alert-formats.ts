/**
 * How alerts are written for the services where people read them, chosen by the address: Slack, Microsoft Teams,
 * Discord, PagerDuty. Any other address gets the event itself.
 */

/** What every alert says; the other fields are facts about it. */
export interface AlertEvent {
  /** The same in all attempts. */
  readonly id: string
  readonly event: string
  readonly event_message: string
}

/** What is posted. */
export interface AlertMessage {
  readonly url: string
  readonly body: object
}

interface Fact {
  readonly name: string
  readonly value: string
}

type Format = (url: URL, event: AlertEvent, facts: readonly Fact[]) => AlertMessage

const formats: readonly (readonly [host: RegExp, format: Format])[] = [
  [/^hooks\.slack(-gov)?\.com$/, slackMessage],
  [/(^|\.)(discord|discordapp)\.com$/, discordMessage],
  [/(\.webhook\.office\.com|\.logic\.azure\.(com|us|cn)|\.powerplatform\.com)$/, teamsMessage],
  [/^events\.(eu\.)?pagerduty\.com$/, pagerDutyMessage],
]

/** The message for this address. */
export function alertMessage(address: string, event: AlertEvent): AlertMessage {
  const url = new URL(address)
  const format = formats.find(([host]) => host.test(url.hostname))?.[1]
  // `text` is what other chat tools show that take webhooks.
  return format ? format(url, event, factsOf(event)) : { url: address, body: { text: titleOf(event), ...event } }
}

const cut = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 3)}...`

const titleOf = ({ event_message: message }: AlertEvent): string => `Modelgate: ${message}`

const unshown: ReadonlySet<string> = new Set(['id', 'event', 'event_message', 'text'])

function factsOf(event: AlertEvent): Fact[] {
  return Object.entries(event).flatMap(([name, value]) =>
    unshown.has(name) || value === null || value === undefined || value === ''
      ? []
      : [{ name: name.replaceAll('_', ' '), value: String(value) }],
  )
}

/** An event that says that something is over. */
const isOver = ({ event }: AlertEvent): boolean => event === 'trouble_ended'

/** https://docs.slack.dev/reference/block-kit/blocks, 2026-11: 150 characters of a header, 10 fields of a section. */
function slackMessage(url: URL, event: AlertEvent, facts: readonly Fact[]): AlertMessage {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const fields = facts.slice(0, 10).map(({ name, value }) => ({
    type: 'mrkdwn',
    text: cut(`*${escaped(name)}*\n${escaped(value)}`, 2000),
  }))
  return {
    url: url.href,
    body: {
      text: escaped(titleOf(event)),
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: cut(titleOf(event), 150) } },
        { type: 'section', text: { type: 'mrkdwn', text: cut(escaped(event.event_message), 3000) } },
        ...(fields.length > 0 ? [{ type: 'section', fields }] : []),
      ],
    },
  }
}

const [green, red] = [0x2e_b8_86, 0xd7_2b_3f]

/** https://discord.com/developers/docs/resources/webhook, 2026-11. A name that looks like a mention is none. */
function discordMessage(url: URL, event: AlertEvent, facts: readonly Fact[]): AlertMessage {
  return {
    url: url.href,
    body: {
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: cut(titleOf(event), 256),
          description: cut(event.event_message, 4096),
          color: isOver(event) ? green : red,
          fields: facts
            .slice(0, 25)
            .map(({ name, value }) => ({ name: cut(name, 256), value: cut(value, 1024), inline: true })),
        },
      ],
    },
  }
}

/** https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors, 2026-11: a card for workflows. */
function teamsMessage(url: URL, event: AlertEvent, facts: readonly Fact[]): AlertMessage {
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      {
        type: 'TextBlock',
        text: titleOf(event),
        weight: 'Bolder',
        size: 'Medium',
        wrap: true,
        color: isOver(event) ? 'Good' : 'Attention',
      },
      { type: 'FactSet', facts: facts.map(({ name, value }) => ({ title: name, value })) },
    ],
  }
  return {
    url: url.href,
    body: {
      type: 'message',
      attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
    },
  }
}

/**
 * https://developer.pagerduty.com/docs/events-api-v2-overview, 2026-11. The key of the integration is `routing_key` of
 * the address, which goes into the body. The end of a trouble resolves the incident that its beginning has made.
 */
function pagerDutyMessage(url: URL, event: AlertEvent, facts: readonly Fact[]): AlertMessage {
  const fact = (name: string) => facts.find(one => one.name === name)?.value
  return {
    url: `${url.origin}/v2/enqueue`,
    body: {
      routing_key: url.searchParams.get('routing_key') ?? '',
      event_action: isOver(event) ? 'resolve' : 'trigger',
      dedup_key: cut(`modelgate ${event.id.replace(/:(began|ended)$/, '')}`, 255),
      payload: {
        summary: cut(titleOf(event), 1024),
        source: fact('host') ?? 'modelgate',
        severity: event.event === 'trouble_began' ? 'critical' : 'warning',
        component: 'modelgate',
        ...(fact('subject') !== undefined && { class: fact('subject') }),
        custom_details: Object.fromEntries(facts.map(({ name, value }) => [name, value])),
      },
    },
  }
}
